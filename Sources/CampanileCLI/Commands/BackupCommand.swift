public import ArgumentParser
import CampanileBase
internal import CampanileStore
internal import Foundation
internal import SyncContents

/// `campanile backup`
public struct BackupCommand: AsyncParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Back up a data folder or the databases on a server, whether or not the suite is running.",
    discussion: """
      Each copy of a database is a consistent snapshot. It is checked before it gets its final name, and only its owner can
      read it. The path, size and SHA-256 of each copy are printed on one line. The copy of sync.sqlite comes with a folder
      of the contents that it references, each verified by its hash: sync-20260101T100000Z.sqlite needs
      sync-contents-20260101T100000Z. Signing keys added by a call are copied as well. The manifest,
      backup-20260101T100000Z.json, is written last and lists every hash.

      A data folder may have a subfolder for each service; all of them are backed up together.

      With --store, the databases on a PostgreSQL server are copied into SQLite files first, each in one transaction and
      all at once. The backup is like that of a data folder. While it is made, it needs twice its size.

      Check a backup with `campanile verify`; restore it with `campanile restore`.

        campanile backup --data-dir .campanile --to /srv/backups
        campanile backup --store postgresql://campanile@db.example.com --to /srv/backups
      """)

  @Option(help: ArgumentHelp("Data folder (default: ./.campanile, then ~/.campanile).", valueName: "dir"))
  var dataDir: String?

  @Option(
    help: ArgumentHelp(
      "Server of the databases, or a file with its address, instead of a data folder.", valueName: "address"))
  var store: String?

  @Option(help: ArgumentHelp("Folder for the copies (default: backups in the data folder).", valueName: "dir"))
  var to: String?

  @OptionGroup var output: OutputOptions

  public init() {}

  public func run() async throws {
    if let store { return try await backUp(store: store) }
    let home = ProcessInfo.processInfo.environment["HOME"]
    let folders = dataDir.map { [$0] } ?? Endpoints.defaultFolders(home: home)
    guard let folder = folders.first(where: { FileManager.default.fileExists(atPath: $0) }) else {
      throw UsageError("no data folder: \(folders.joined(separator: " or ")) does not exist")
    }
    try await backUp(folder, to: to ?? folder + "/backups", stamp: Self.stamp(Date()))
  }

  /// Copies the databases on a server into files, and backs them up.
  private func backUp(store: String) async throws {
    guard dataDir == nil else { throw UsageError("--data-dir and --store exclude each other") }
    guard let target = to else { throw UsageError("--store requires --to, the folder for the copies") }
    try PrivateFolder.make(target)
    let stamp = Self.stamp(Date())
    let folder = "\(target)/.copy-\(stamp)-\(getpid())"
    try PrivateFolder.make(folder)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let copies = try DatabaseCopy.all(["--copy-from", store, "--data-dir", folder])
    // At once, so that all snapshots are of nearly the same time.
    try await withThrowingTaskGroup { group in
      for copy in copies { group.addTask { try await copy.run() } }
      try await group.waitForAll()
    }
    try await backUp(folder, to: target, stamp: stamp)
  }

  private func backUp(_ folder: String, to target: String, stamp: String) async throws {
    let databases = try Self.databases(in: folder, except: target)
    guard !databases.isEmpty else { throw UsageError("no database in \(folder)") }
    try PrivateFolder.make(target)
    var manifest = BackupManifest(stamp: stamp)
    for place in databases {
      let base = place.split(separator: "/").last?.dropLast(".sqlite".count) ?? ""
      let name = "\(base)-\(stamp).sqlite"
      let report = try await Self.copy(folder + "/" + place, to: "\(target)/\(name)")
      try print(Line(path: report.path, sizeBytes: Int64(report.sizeBytes), sha256: report.sha256))
      manifest.files.append(
        .init(name: name, target: place, sizeBytes: Int64(report.sizeBytes), sha256: report.sha256))
      let contents = place.dropLast(".sqlite".count) + "-contents"
      if FileManager.default.fileExists(atPath: "\(folder)/\(contents)") {
        let copied = "\(base)-contents-\(stamp)"
        let count = try await copyContents("\(folder)/\(contents)", named: report.path, to: "\(target)/\(copied)")
        manifest.contents.append(.init(name: copied, target: String(contents), database: name, contents: count))
      }
    }
    for place in try Self.keys(in: folder) {
      let name = "key-\(stamp)-\(place.split(separator: "/").last ?? "")"
      guard let bytes = FileManager.default.contents(atPath: "\(folder)/\(place)") else {
        throw UsageError("cannot read \(folder)/\(place)")
      }
      try PrivateFile.write(bytes, to: "\(target)/\(name)")
      let (sha256, sizeBytes) = try FileDigest.of("\(target)/\(name)")
      manifest.files.append(.init(name: name, target: place, sizeBytes: sizeBytes, sha256: sha256))
    }
    try manifest.write(folder: target)
  }

  /// Copies the contents that a copied database references.
  ///
  /// - Returns: The number of copied contents.
  /// - Throws: `UsageError` if some contents are missing or damaged, after the others have been copied.
  private func copyContents(_ folder: String, named database: String, to target: String) async throws -> Int {
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
    return report.contentCount
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
    /// Hash of a copied file; nil for a folder.
    var sha256: String?
    /// Number of contents in a copied folder; nil for a file.
    var contents: Int?
  }

  private func print(_ line: Line) throws {
    guard output.form == .json else {
      let what = line.sha256 ?? "\(line.contents ?? 0) contents"
      return try Console.writeLine("\(what)  \(Terminal.printable(line.path))  \(line.sizeBytes) bytes")
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    try Console.writeLine(Terminal.printableJSON(try encoder.encode(line)))
  }

  /// Returns the sorted relative paths of the databases in `folder` and its direct subfolders.
  ///
  /// - Parameter copies: The folder that receives the backup; skipped.
  static func databases(in folder: String, except copies: String) throws(UsageError) -> [String] {
    try places(in: folder, except: copies).filter { $0.hasSuffix(".sqlite") }
  }

  /// Returns the relative paths of the signing keys that were added by a call.
  static func keys(in folder: String) throws(UsageError) -> [String] {
    let names = try list(folder)
    return ([""] + names.map { $0 + "/" }).flatMap { part in
      let place = "\(part)signing-keys"
      let files = (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(place)")) ?? []
      return files.filter { !$0.hasPrefix(".") && !$0.hasSuffix(".tmp") }.sorted().map { "\(place)/\($0)" }
    }
  }

  private static func places(in folder: String, except copies: String) throws(UsageError) -> [String] {
    let own = URL(fileURLWithPath: copies).standardizedFileURL.path
    var places: [String] = []
    for name in try list(folder) {
      let path = "\(folder)/\(name)"
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { continue }
      if !isFolder.boolValue {
        places.append(name)
      } else if URL(fileURLWithPath: path).standardizedFileURL.path != own, name != "backups" {
        // An unreadable folder, such as lost+found, does not belong to the suite. Other backup folders are skipped.
        let names = (try? list(path)) ?? []
        if names.contains(where: { $0.hasPrefix("backup-") && $0.hasSuffix(".json") }) { continue }
        places += names.map { "\(name)/\($0)" }
      }
    }
    return places.sorted()
  }

  private static func list(_ folder: String) throws(UsageError) -> [String] {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
      throw UsageError("cannot read the folder \(folder)")
    }
    return names.filter { !$0.hasPrefix(".") }.sorted()
  }

  /// Formats `date` like `20251108T093000Z`.
  static func stamp(_ date: Date) -> String {
    let style = Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted)
    return date.formatted(style)
  }
}
