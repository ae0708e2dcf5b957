import CampanileBase
internal import Foundation

/// The manifest of a backup, `backup-STAMP.json`, with the files that belong together and their hashes.
///
/// It is written last, after all copies.
struct BackupManifest: Sendable, Hashable, Codable {
  /// A copied file.
  struct File: Sendable, Hashable, Codable {
    /// File name in the backup folder.
    var name: String
    /// Path below the data folder: `sync.sqlite` or `sync/sync.sqlite`.
    var target: String
    var sizeBytes: Int64
    /// SHA-256 in lower-case hexadecimal.
    var sha256: String
  }

  /// A folder of contents, whose file names are their hashes. A database of `files` references them.
  struct Contents: Sendable, Hashable, Codable {
    var name: String
    var target: String
    /// The `File.name` of the database that references the contents.
    var database: String
    var contents: Int
  }

  /// Time of the backup, like `20260101T100000Z`.
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

  /// Reads the manifest of the backup made at `stamp`, or of the newest one if `stamp` is nil.
  ///
  /// - Throws: `UsageError` if there is no such backup, or its manifest cannot be decoded or is unsafe.
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
    else { throw UsageError("\(folder)/\(name) is not a valid manifest of `campanile backup`") }
    return manifest
  }

  /// Whether all paths stay within their folders. A manipulated manifest must not reach other files.
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
