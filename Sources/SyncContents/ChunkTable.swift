import CampanileBase
package import CampanileStore

/// The table of content files in a database: each file is rows of 1 MiB. Only databases on PostgreSQL have it.
///
/// The name of a complete file is the SHA-256 of its content in hexadecimal digits. Any other name contains `_`.
package enum ChunkTable {
  package static let chunkBytes = 1 << 20

  /// A migration's statements. Chunks are stored as they are, because PostgreSQL would try to compress each.
  package static let schemaSQL = """
    CREATE TABLE content_chunks (
      name TEXT NOT NULL, number BIGINT NOT NULL, at_ms BIGINT NOT NULL, data BYTEA NOT NULL,
      PRIMARY KEY (name, number));
    ALTER TABLE content_chunks ALTER COLUMN data SET STORAGE EXTERNAL;
    CREATE INDEX content_chunks_unfinished ON content_chunks (at_ms) WHERE number = 0 AND name LIKE '%\\_%';
    """
  package static let name = "content_chunks"

  static let putSQL = """
    INSERT INTO content_chunks (name, number, at_ms, data) VALUES ($1, $2, $3, $4)
    ON CONFLICT (name, number) DO UPDATE SET at_ms = excluded.at_ms, data = excluded.data
    """
  static let lastSQL = "SELECT number, data FROM content_chunks WHERE name = $1 ORDER BY number DESC LIMIT 1"
  static let oneSQL = "SELECT data FROM content_chunks WHERE name = $1 AND number = $2"
  static let truncateSQL = "DELETE FROM content_chunks WHERE name = $1 AND number > $2"
  private static let dropSQL = "DELETE FROM content_chunks WHERE name = $1"
  private static let renameSQL = "UPDATE content_chunks SET name = $2 WHERE name = $1"
  private static let unfinishedSQL = """
    SELECT name FROM content_chunks
    WHERE number = 0 AND name LIKE '%\\_%' AND at_ms < $1 AND NOT EXISTS (SELECT 1 FROM uploads WHERE id = name)
    ORDER BY at_ms LIMIT $2
    """

  /// Stores a content's file of one chunk. Replaces the file that the content has: it may be damaged.
  package static func add(_ file: [UInt8], as name: String, nowMs: Int64, _ transaction: WriteTransaction) throws {
    try remove(name, transaction)
    try transaction.execute(putSQL, [.text(name), .integer(0), .integer(nowMs), .blob(file)])
  }

  /// Renames a file. Replaces the file that has the new name.
  ///
  /// - Throws: UNAVAILABLE if there is no file, so that no commit names a content without one.
  package static func rename(_ name: String, to other: String, _ transaction: WriteTransaction) throws {
    try remove(other, transaction)
    guard try transaction.executeCounting(renameSQL, [.text(name), .text(other)]) > 0 else {
      throw RPCError(
        .unavailable, "the bytes of the content are missing; send them again", reason: ContentReason.contentsUnavailable
      )
    }
  }

  package static func remove(_ name: String, _ transaction: WriteTransaction) throws {
    try transaction.execute(dropSQL, [.text(name)])
  }

  /// Returns the names of files that no commit and no upload has used since a time.
  package static func unfinished(
    beforeMs: Int64, countMax: Int, _ transaction: ReadTransaction
  ) throws -> [String] {
    try transaction.query(unfinishedSQL, [.integer(beforeMs), .int(countMax)]) { try $0.text(0) }
  }
}

/// Reads and changes the table of chunks: of an open store, or on a connection while a database is moved. Blocks.
package protocol ChunkAccess: Sendable {
  func query<T>(_ sql: String, _ arguments: [SQLValue], _ map: (borrowing SQLRow) throws -> T) throws -> T?
  /// Runs statements in one transaction, and returns when it is durable.
  func change(_ statements: [(sql: String, arguments: [SQLValue])]) throws
}

extension Store: ChunkAccess {
  package func query<T>(_ sql: String, _ arguments: [SQLValue], _ map: (borrowing SQLRow) throws -> T) throws -> T? {
    try readSingleBlocking { try $0.queryOne(sql, arguments, map) }
  }

  package func change(_ statements: [(sql: String, arguments: [SQLValue])]) throws {
    try writeBlocking { transaction in
      for statement in statements { try transaction.execute(statement.sql, statement.arguments) }
    }
  }
}
