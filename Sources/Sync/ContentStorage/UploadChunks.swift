import CampanileBase
import CampanileStore
import SyncContents

/// The chunks of an upload as a process may change them: only while no other process has taken the upload.
struct UploadChunks: ChunkAccess {
  static let epochSQL = "SELECT writer_epoch FROM uploads WHERE id = $1"

  let store: Store
  let id: String
  /// The epoch in which this process writes. Nil for reading: changes are discarded.
  let epoch: Int64?

  func query<T>(_ sql: String, _ arguments: [SQLValue], _ map: (borrowing SQLRow) throws -> T) throws -> T? {
    try store.query(sql, arguments, map)
  }

  func change(_ statements: [(sql: String, arguments: [SQLValue])]) throws {
    guard let epoch else { return }
    try store.writeBlocking { transaction in
      let current = try transaction.queryOne(Self.epochSQL, [.text(id)]) { try $0.integer(0) }
      guard let current else { throw RPCError.uploadNotFound(id) }
      guard current == epoch else { throw RPCError.uploadTaken }
      for statement in statements { try transaction.execute(statement.sql, statement.arguments) }
    }
  }
}
