import CampanileCrypto
import CampanileStore
import FoundationEssentials
import SyncContents

/// Deletes files without a row, left by a process that ended before writing the row: one of the 256 folders at a time.
struct OrphanPurge: Sendable {
  let contents: ContentFolder
  /// Files modified after this time stay.
  let beforeMs: Int64

  /// Purges folder `number` of 256, and also the uploads with the first folder. Blocks.
  ///
  /// - Returns: The number of deleted files.
  func run(folder number: Int) throws -> Int {
    let digits = String(number % 256, radix: 16)
    let name = digits.count == 1 ? "0\(digits)" : digits
    var count = 0
    for file in try old("\(contents.folder)/contents/\(name)") {
      guard let digest = NameRules.digest(file), try !contents.store.knowsBlocking(digest) else { continue }
      contents.remove(digest)
      count += 1
    }
    guard number % 256 == 0 else { return count }
    for file in try old("\(contents.folder)/uploads") where try !isUpload(file) {
      contents.discard(file)
      count += 1
    }
    return count
  }

  static let uploadSQL = "SELECT 1 FROM uploads WHERE id = $1 LIMIT 1"

  private func isUpload(_ id: String) throws -> Bool {
    try contents.store.readSingleBlocking { try $0.queryOne(Self.uploadSQL, [.text(id)]) { try $0.integer(0) } != nil }
  }

  /// Returns the names in a folder that were not modified since `beforeMs`.
  private func old(_ folder: String) throws -> [String] {
    let manager = FileManager.default
    return try manager.contentsOfDirectory(atPath: folder).filter { name in
      let attributes = try? manager.attributesOfItem(atPath: "\(folder)/\(name)")
      guard let changed = attributes?[.modificationDate] as? Date else { return false }
      return Int64(changed.timeIntervalSince1970 * 1_000) < beforeMs
    }
  }
}
