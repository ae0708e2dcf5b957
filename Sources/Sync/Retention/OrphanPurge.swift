import CampanileCrypto
import CampanileStore
import FoundationEssentials
import SyncContents

/// Deletes files without a row, left by a process that ended before writing the row: one of the 256 folders at a time.
struct OrphanPurge: Sendable {
  let store: Store
  let contents: ContentStore
  let graceMs: Int64

  /// Purges folder `number` of 256, and also the uploads with the first folder. Blocks.
  ///
  /// - Returns: The number of deleted files.
  func run(folder number: Int, nowMs: Int64) throws -> Int {
    let digits = String(number % 256, radix: 16)
    let name = digits.count == 1 ? "0\(digits)" : digits
    var count = 0
    for file in try old("\(contents.folder)/contents/\(name)", nowMs: nowMs) {
      guard let digest = NameRules.digest(file), try !store.knowsBlocking(digest) else { continue }
      contents.remove(digest) { try store.knowsBlocking(digest) }
      count += 1
    }
    guard number % 256 == 0 else { return count }
    for file in try old("\(contents.folder)/uploads", nowMs: nowMs) where try !isUpload(file) {
      DiskFile.remove(contents.uploadPath(file))
      count += 1
    }
    return count
  }

  static let uploadSQL = "SELECT 1 FROM uploads WHERE id = $1 LIMIT 1"

  private func isUpload(_ id: String) throws -> Bool {
    try store.readSingleBlocking { try $0.queryOne(Self.uploadSQL, [.text(id)]) { try $0.integer(0) } != nil }
  }

  /// Returns the names in a folder that were not modified within the grace time.
  private func old(_ folder: String, nowMs: Int64) throws -> [String] {
    let manager = FileManager.default
    return try manager.contentsOfDirectory(atPath: folder).filter { name in
      let attributes = try? manager.attributesOfItem(atPath: "\(folder)/\(name)")
      guard let changed = attributes?[.modificationDate] as? Date else { return false }
      return Int64(changed.timeIntervalSince1970 * 1_000) < nowMs - graceMs
    }
  }
}
