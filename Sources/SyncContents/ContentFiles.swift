package import CampanileBase
package import CampanileCrypto
package import CampanileStore

/// The locations of contents: one file each in the folder of contents, or the journal of the database until the file is
/// on disk.
package enum ContentFiles {
  package static let journalFileSQL = "SELECT file FROM content_journal WHERE sequence = $1"

  // Reads few rows, because the service bounds the journal, and none of their bytes.
  private static let journalSQL = "SELECT sequence, sha256 FROM content_journal ORDER BY sequence"

  package static func path(of digest: SHA256Digest, in folder: String) -> String {
    let name = digest.hexadecimal
    return "\(folder)/contents/\(name.prefix(2))/\(name)"
  }

  /// Returns the bytes of a content's file from the journal of a database; nil if it has none.
  package static func journaled(_ digest: SHA256Digest, in transaction: ReadTransaction) throws -> [UInt8]? {
    let rows = try transaction.query(journalSQL, []) { row in (sequence: try row.integer(0), digest: try row.bytes(1)) }
    guard let sequence = rows.first(where: { $0.digest == digest.bytes })?.sequence else { return nil }
    return try transaction.queryOne(journalFileSQL, [.integer(sequence)]) { try $0.bytes(0) }
  }
}

/// The reasons of failures that concern content files.
package enum ContentReason {
  package static let contentDamaged = "CONTENT_DAMAGED"
  package static let contentsUnavailable = "CONTENTS_UNAVAILABLE"
  package static let diskFull = "DISK_FULL"
}

extension RPCError {
  package static var contentDamaged: RPCError {
    RPCError(
      .dataLoss, "the content is damaged on disk; restore another version, or a backup",
      reason: ContentReason.contentDamaged)
  }
}
