import CampanileCrypto
import CampanileStore

/// Rows of `contents`: which files there are, and how many versions and uploads name each.
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
  /// One more version or upload names a content that is on the disk, or whose file goes into the journal with it.
  func addContent(_ facts: ContentFacts) throws {
    if !facts.journaledFile.isEmpty {
      try execute(
        ContentJournal.addSQL,
        [
          .integer(try bump(counter: "journal")), .blob(facts.digest.bytes), .int(facts.journaledFile.count),
          .blob(facts.journaledFile),
        ])
    }
    if try execute(ContentTable.retainSQL, [.blob(facts.digest.bytes)]) == 1 { return }
    try execute(
      ContentTable.addSQL, [.blob(facts.digest.bytes), .integer(facts.sizeBytes), .integer(facts.storedBytes)])
    _ = try bump(counter: "stored", by: facts.storedBytes)
  }

  /// One more version names a content that others name already.
  func retainContent(_ digest: SHA256Digest) throws {
    guard try execute(ContentTable.retainSQL, [.blob(digest.bytes)]) == 1 else {
      throw StoreError(.corrupt, "a version names a content that has no row")
    }
  }

  /// One version or upload less names it. After the last it stays for a grace time.
  func releaseContent(_ digest: SHA256Digest?, nowMs: Int64) throws {
    guard let digest else { return }
    try execute(ContentTable.releaseSQL, [.blob(digest.bytes), .integer(nowMs)])
  }

  /// Drops the row of a content that nothing names.
  func dropContent(_ digest: [UInt8]) throws {
    let storedBytes = try queryOne(ContentTable.dropSQL, [.blob(digest)]) { try $0.integer(0) }
    if let storedBytes { _ = try bump(counter: "stored", by: -storedBytes) }
  }
}
