import CampanileCrypto
import CampanileStore
import SyncContents

/// Statements of `contents`: the files, and the number of versions and uploads that reference each.
enum ContentTable {
  static let addSQL = "INSERT INTO contents (sha256, size_bytes, stored_bytes, ref_count) VALUES ($1, $2, $3, 1)"
  static let retainSQL = """
    UPDATE contents SET ref_count = ref_count + 1, unreferenced_at_ms = NULL WHERE sha256 = $1
    """
  static let releaseSQL = """
    UPDATE contents SET ref_count = ref_count - 1,
      unreferenced_at_ms = CASE WHEN ref_count = 1 THEN $2 ELSE unreferenced_at_ms END
    WHERE sha256 = $1
    """
  static let existsSQL = "SELECT 1 FROM contents WHERE sha256 = $1"
  static let unreferencedSQL = """
    SELECT sha256 FROM contents WHERE unreferenced_at_ms IS NOT NULL AND unreferenced_at_ms < $1
    ORDER BY unreferenced_at_ms LIMIT $2
    """
  static let dropSQL = "DELETE FROM contents WHERE sha256 = $1 AND ref_count = 0 RETURNING stored_bytes"
}

extension WriteTransaction {
  /// Adds a reference to a content that is on disk, or whose file is stored in this transaction.
  func addContent(_ summary: ContentSummary) throws {
    switch summary.pendingFile {
    case .none: break
    case .journal(let file):
      try execute(
        ContentJournal.addSQL,
        [.integer(try next("journal")), .blob(summary.digest.bytes), .int(file.count), .blob(file)])
    case .chunk(let file, let nowMs): try ChunkTable.add(file, as: summary.digest.hexadecimal, nowMs: nowMs, self)
    case .chunks(let name): try ChunkTable.rename(name, to: summary.digest.hexadecimal, self)
    }
    if try executeCounting(ContentTable.retainSQL, [.blob(summary.digest.bytes)]) == 1 { return }
    try execute(
      ContentTable.addSQL, [.blob(summary.digest.bytes), .integer(summary.sizeBytes), .integer(summary.storedBytes)])
    try add(summary.storedBytes, to: "stored")
  }

  /// Adds a reference to a content that already has one.
  func retainContent(_ digest: SHA256Digest) throws {
    guard try executeCounting(ContentTable.retainSQL, [.blob(digest.bytes)]) == 1 else {
      throw StoreError(.corrupt, "a version references a content without a row")
    }
  }

  /// Removes a reference to a content. An unreferenced content stays for a grace time.
  func releaseContent(_ digest: SHA256Digest?, nowMs: Int64) throws {
    guard let digest else { return }
    try execute(ContentTable.releaseSQL, [.blob(digest.bytes), .integer(nowMs)])
  }

  /// Deletes the row of an unreferenced content, and its file if that is in the database.
  func dropContent(_ digest: SHA256Digest) throws {
    let storedBytes = try queryOne(ContentTable.dropSQL, [.blob(digest.bytes)]) { try $0.integer(0) }
    guard let storedBytes else { return }
    try add(-storedBytes, to: "stored")
    if try dialect == .postgreSQL { try ChunkTable.remove(digest.hexadecimal, self) }
  }
}
