public import ArgumentParser
internal import CampanileStore
internal import Foundation

/// `campanile backup`
public struct BackupCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copies every database of a data folder, also while the suite is running.",
    discussion: """
      Each copy is one consistent state, checked before it gets its name, and readable by its owner only. One line a copy
      tells its path, size and SHA-256.

        campanile backup --data-dir .campanile --to /srv/backups
      """)

  @Option(help: ArgumentHelp("Data folder (default: ./.campanile, then ~/.campanile).", valueName: "dir"))
  var dataDir: String?

  @Option(help: ArgumentHelp("Folder for the copies (default: backups in the data folder).", valueName: "dir"))
  var to: String?

  @OptionGroup var output: OutputOptions

  public init() {}

  public func run() async throws {
    let home = ProcessInfo.processInfo.environment["HOME"]
    let folders = dataDir.map { [$0] } ?? Endpoints.defaultFolders(home: home)
    guard let folder = folders.first(where: { FileManager.default.fileExists(atPath: $0) }) else {
      throw UsageError("no data folder: \(folders.joined(separator: " or ")) does not exist")
    }
    let databases = try Self.databases(in: folder)
    guard !databases.isEmpty else { throw UsageError("no database in \(folder)") }
    let target = to ?? folder + "/backups"
    try PrivateFile.makeFolder(target)
    let stamp = Self.stamp(Date())
    for name in databases {
      let base = name.dropLast(".sqlite".count)
      let report = try await Self.copy(folder + "/" + name, to: "\(target)/\(base)-\(stamp).sqlite")
      try print(report)
    }
  }

  private static func copy(_ path: String, to target: String) async throws(UsageError) -> BackupReport {
    do {
      return try await Store.backup(path: path, to: target)
    } catch {
      throw UsageError("cannot back up \(path): \(error)")
    }
  }

  private func print(_ report: BackupReport) throws {
    guard output.form == .json else {
      return try Console.writeLine("\(report.sha256)  \(report.path)  \(report.sizeBytes) bytes")
    }
    struct Line: Encodable {
      var path: String
      var sizeBytes: Int64
      var sha256: String
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let line = Line(path: report.path, sizeBytes: Int64(report.sizeBytes), sha256: report.sha256)
    try Console.writeLine(try encoder.encode(line))
  }

  /// The names of the databases in `folder`, sorted.
  static func databases(in folder: String) throws(UsageError) -> [String] {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
      throw UsageError("cannot read the folder \(folder)")
    }
    return names.filter { $0.hasSuffix(".sqlite") }.sorted()
  }

  /// `20251108T093000Z`.
  static func stamp(_ date: Date) -> String {
    let style = Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted)
    return date.formatted(style)
  }
}
