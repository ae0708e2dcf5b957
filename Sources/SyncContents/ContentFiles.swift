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

  /// Creates the missing folders, and returns when their names are on disk.
  package static func makeFolders(in folder: String) throws {
    for path in [folder, "\(folder)/contents", "\(folder)/uploads"] + contentFolders(in: folder) {
      try DiskFile.makeFolder(path)
    }
    for path in ["\(folder)/contents", folder, "\(folder)/.."] { try DiskFile.syncFolder(path) }
  }

  /// The 256 folders of files.
  static func contentFolders(in folder: String) -> [String] {
    (0..<256).map { "\(folder)/contents/\(Hexadecimal.text([UInt8($0)]))" }
  }

  // Excludes contents without a reference, because they may be removed at any moment.
  package static let pageSQL = """
    SELECT sha256, size_bytes FROM contents WHERE sha256 > $1 AND ref_count > 0 ORDER BY sha256 LIMIT $2
    """
  private static let pageRows = 500

  /// Calls `body` for every referenced content, page by page, so that it can use the same connection.
  static func forEachContent(
    in transaction: ReadTransaction, _ body: (SHA256Digest, _ sizeBytes: Int64) throws -> Void
  ) throws {
    var after: [UInt8] = []
    while true {
      let page = try transaction.query(pageSQL, [.blob(after), .int(pageRows)]) { row in
        (digest: try row.digest(0), sizeBytes: try row.integer(1))
      }
      for content in page { try body(content.digest, content.sizeBytes) }
      guard let last = page.last, page.count == pageRows else { return }
      after = last.digest.bytes
    }
  }

  /// Returns the bytes of a content's file from the journal of a database; nil if it has none.
  package static func journaled(_ digest: SHA256Digest, in transaction: ReadTransaction) throws -> [UInt8]? {
    let rows = try transaction.query(journalSQL, []) { row in (sequence: try row.integer(0), digest: try row.bytes(1)) }
    guard let sequence = rows.first(where: { $0.digest == digest.bytes })?.sequence else { return nil }
    return try transaction.queryOne(journalFileSQL, [.integer(sequence)]) { try $0.bytes(0) }
  }
}

extension SQLRow {
  /// Returns the SHA-256 in a column.
  package func digest(_ column: Int) throws -> SHA256Digest {
    guard let digest = SHA256Digest(bytes: try bytes(column)) else {
      throw StoreError(.corrupt, "a hash is not 32 bytes long")
    }
    return digest
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
