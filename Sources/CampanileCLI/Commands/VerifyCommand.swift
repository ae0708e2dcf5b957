public import ArgumentParser
internal import Foundation

/// `campanile verify`
public struct VerifyCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Verify every hash, database and content of a backup. Exit code 1 if it is damaged.",
    discussion:
      "  campanile verify --from /srv/backups\n  campanile verify --from /srv/backups --backup 20260101T100000Z")

  @OptionGroup var which: BackupChoice

  public init() {}

  public func run() async throws {
    let manifest = try which.manifest()
    let check = BackupCheck(manifest: manifest, folder: which.from)
    let faults = await Task.detached { check.faults() }.value
    for fault in faults { Console.note("campanile: \(Terminal.printable("\(fault)"))") }
    guard faults.isEmpty else { throw ExitCode(1) }
    try Console.writeLine(which.summary("whole", manifest))
  }
}

/// `campanile restore`
public struct RestoreCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Restore a backup into an empty data folder.",
    discussion: """
      The backup is verified first, as by `campanile verify`, and every file again while it is copied. Existing files are never
      changed: a folder that is not empty is refused. Stop the suite that uses the folder first.

        campanile restore --from /srv/backups --to .campanile
      """)

  @OptionGroup var which: BackupChoice

  @Option(help: ArgumentHelp("Data folder.", valueName: "dir"))
  var to: String

  public init() {}

  public func run() async throws {
    let manifest = try which.manifest()
    let check = BackupCheck(manifest: manifest, folder: which.from)
    let restoration = Restoration(manifest: manifest, source: which.from, target: to)
    let faults = try await Task.detached {
      try restoration.refuseWhatIsThere()
      let faults = check.faults()
      if faults.isEmpty { try restoration.run() }
      return faults
    }.value
    for fault in faults { Console.note("campanile: \(Terminal.printable("\(fault)"))") }
    guard faults.isEmpty else { throw ExitCode(1) }
    try Console.writeLine(which.summary("restored", manifest))
  }
}

/// Options that select the backup a command works on.
struct BackupChoice: ParsableArguments, Sendable {
  @Option(help: ArgumentHelp("Folder with backups of `campanile backup`.", valueName: "dir"))
  var from: String

  @Option(help: ArgumentHelp("Timestamp in the file names of the backup (default: the newest).", valueName: "stamp"))
  var backup: String?

  @OptionGroup var output: OutputOptions

  func manifest() throws(UsageError) -> BackupManifest { try BackupManifest.read(folder: from, stamp: backup) }

  /// Formats the result as one line.
  func summary(_ done: String, _ manifest: BackupManifest) throws -> [UInt8] {
    struct Line: Encodable {
      var backup: String
      var result: String
      var files: Int
      var sizeBytes: Int64
      var contents: Int
    }
    let line = Line(
      backup: manifest.stamp, result: done, files: manifest.files.count,
      sizeBytes: manifest.files.reduce(0) { $0 + $1.sizeBytes },
      contents: manifest.contents.reduce(0) { $0 + $1.contents })
    guard output.form == .json else {
      return Array("\(done): \(line.backup), \(line.files) files, \(line.contents) contents".utf8)
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return Array(try encoder.encode(line))
  }
}
