internal import Foundation

/// `backup-STAMP.json`, written last into a folder of backups: what belongs together, and the hashes that it must have.
struct BackupManifest: Sendable, Hashable, Codable {
  /// A file that is copied as it is.
  struct File: Sendable, Hashable, Codable {
    /// In the folder of backups.
    var name: String
    /// Where it belongs, below the data folder: `sync.sqlite` or `sync/sync.sqlite`.
    var target: String
    var sizeBytes: Int64
    /// In lower-case hexadecimal.
    var sha256: String
  }

  /// A folder of contents, each of which is named by its hash and by a database of `files`.
  struct Contents: Sendable, Hashable, Codable {
    var name: String
    var target: String
    /// The database that names them, as in `File.name`.
    var database: String
    var contents: Int
  }

  /// `20260101T100000Z`.
  var stamp: String
  var files: [File] = []
  var contents: [Contents] = []

  static let sizeBytesMax = 16 << 20
  static func fileName(_ stamp: String) -> String { "backup-\(stamp).json" }

  func write(folder: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try PrivateFile.write(try encoder.encode(self) + Data("\n".utf8), to: folder + "/" + Self.fileName(stamp))
  }

  /// The backup that was made at `stamp`, or the newest. Throws `UsageError` when there is none, or it is not what was written.
  static func read(folder: String, stamp: String?) throws(UsageError) -> BackupManifest {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
      throw UsageError("cannot read the folder \(folder)")
    }
    let all = names.filter { $0.hasPrefix("backup-") && $0.hasSuffix(".json") }.sorted()
    guard let name = stamp.map(fileName) ?? all.last, all.contains(name) else {
      let known = all.suffix(5).map { $0.dropFirst("backup-".count).dropLast(".json".count) }.joined(separator: ", ")
      throw UsageError("no backup \(stamp ?? "") in \(folder)" + (known.isEmpty ? "" : ": the newest are \(known)"))
    }
    guard let bytes = FileManager.default.contents(atPath: folder + "/" + name), bytes.count <= sizeBytesMax,
      let manifest = try? JSONDecoder().decode(BackupManifest.self, from: bytes), manifest.isSafe
    else { throw UsageError("\(folder)/\(name) is not what `campanile backup` writes") }
    return manifest
  }

  /// Whether every name stays where it belongs: a manifest that somebody has changed must not reach beyond the folders.
  private var isSafe: Bool {
    let names = files.map(\.name) + contents.map(\.name) + contents.map(\.database)
    let targets = files.map(\.target) + contents.map(\.target)
    func isPlain(_ part: Substring) -> Bool { !part.isEmpty && !part.hasPrefix(".") && !part.contains("\0") }
    return names.allSatisfy { !$0.contains("/") && isPlain(Substring($0)) }
      && targets.allSatisfy { target in
        let parts = target.split(separator: "/", omittingEmptySubsequences: false)
        return (1...3).contains(parts.count) && parts.allSatisfy(isPlain)
      } && Set(targets).count == targets.count
  }
}
