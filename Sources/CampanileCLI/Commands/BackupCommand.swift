public import ArgumentParser
internal import CampanileStore
internal import Foundation
internal import Sync

/// `campanile backup`
public struct BackupCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copies every database of a data folder, also while the suite is running.",
    discussion: """
      Each copy is one consistent state, checked before it gets its name, and readable by its owner only. One line a copy
      tells its path, size and SHA-256. Beside the copy of sync.sqlite goes a folder with every content that it names, each
      checked by its hash: sync-20260101T100000Z.sqlite is whole with sync-contents-20260101T100000Z.

      To restore, stop the suite and put the copies back under the names without the time.

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
      try print(Line(path: report.path, sizeBytes: Int64(report.sizeBytes), sha256: report.sha256))
      let contents = "\(folder)/\(base)-contents"
      if FileManager.default.fileExists(atPath: contents) {
        try await copyContents(contents, named: report.path, to: "\(target)/\(base)-contents-\(stamp)")
      }
    }
  }

  /// Copies the contents that a copied database names. Fails in the end when some of them are lost.
  private func copyContents(_ folder: String, named database: String, to target: String) async throws {
    let report: ContentsBackup.Report
    do {
      report = try await Task.detached { try ContentsBackup.run(database: database, from: folder, to: target) }.value
    } catch {
      throw UsageError("cannot back up \(folder): \(error)")
    }
    try print(Line(path: report.folder, sizeBytes: report.sizeBytes, contents: report.contentCount))
    guard report.damagedCount == 0 else {
      throw UsageError(
        "\(report.damagedCount) contents of \(folder) are missing or damaged and not in the copy: "
          + report.damaged.joined(separator: " "))
    }
  }

  private static func copy(_ path: String, to target: String) async throws(UsageError) -> BackupReport {
    do {
      return try await Store.backup(path: path, to: target)
    } catch {
      throw UsageError("cannot back up \(path): \(error)")
    }
  }

  private struct Line: Encodable {
    var path: String
    var sizeBytes: Int64
    /// Of a file.
    var sha256: String?
    /// How many a folder has.
    var contents: Int?
  }

  private func print(_ line: Line) throws {
    guard output.form == .json else {
      let what = line.sha256 ?? "\(line.contents ?? 0) contents"
      return try Console.writeLine("\(what)  \(line.path)  \(line.sizeBytes) bytes")
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
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
