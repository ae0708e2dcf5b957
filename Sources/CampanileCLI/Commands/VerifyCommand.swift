public import ArgumentParser
internal import Foundation

/// `campanile verify`
public struct VerifyCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Checks a backup: every hash, every database, every content. Exit code 1 when it is not whole.",
    discussion:
      "  campanile verify --from /srv/backups\n  campanile verify --from /srv/backups --backup 20260101T100000Z")

  @OptionGroup var which: BackupChoice

  public init() {}

  public func run() async throws {
    let manifest = try which.manifest()
    let check = BackupCheck(manifest: manifest, folder: which.from)
    let faults = await Task.detached { check.faults() }.value
    for fault in faults { Console.note("campanile: \(fault)") }
    guard faults.isEmpty else { throw ExitCode(1) }
    try Console.writeLine(which.summary("whole", manifest))
  }
}

/// `campanile restore`
public struct RestoreCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Puts a backup into a data folder that has nothing in it.",
    discussion: """
      The backup is checked first, as `campanile verify` does, and every copy again. Nothing is changed that is there: a folder
      with something in it is refused. The suite that used it must have ended.

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
    for fault in faults { Console.note("campanile: \(fault)") }
    guard faults.isEmpty else { throw ExitCode(1) }
    try Console.writeLine(which.summary("restored", manifest))
  }
}

/// Which backup a command is about.
struct BackupChoice: ParsableArguments, Sendable {
  @Option(help: ArgumentHelp("Folder that `campanile backup` has written to.", valueName: "dir"))
  var from: String

  @Option(help: ArgumentHelp("Time of the backup, as its files have it (default: the newest).", valueName: "stamp"))
  var backup: String?

  @OptionGroup var output: OutputOptions

  func manifest() throws(UsageError) -> BackupManifest { try BackupManifest.read(folder: from, stamp: backup) }

  /// One line about what was done.
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
