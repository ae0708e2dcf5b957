import CampanileStore
import GRDB

/// Reads single rows by key, from a thousand rows in rotation: the cost of a `Get`.
struct ReadBench {
  static let rows = 1_000
  static let sql = "SELECT id, owner, title, body, created_at_ms FROM notifications WHERE id = $1"

  let reads: Int
  private let ids = (0..<Self.rows).map { "hot-\($0)" }

  init(reads: Int) { self.reads = reads }

  func fill(_ store: Store) async throws {
    let ids = ids
    _ = try await store.write { transaction in
      for (index, id) in ids.enumerated() {
        try transaction.execute(
          InsertBench.sql,
          [.text(id), "user", "A title of a notification", .text(InsertBench.body), .int(index)])
      }
    }
  }

  /// Returns the microseconds per read with `readSingle`.
  func single(_ store: Store) throws -> Double {
    try cost { id in try store.readSingle { try Self.row(id, in: $0) } }
  }

  /// Returns the microseconds per read with `read`, which opens a snapshot.
  func snapshot(_ store: Store) throws -> Double {
    try cost { id in try store.read { try Self.row(id, in: $0) } }
  }

  /// Returns the microseconds per read through GRDB's pool.
  func grdbPool(_ pool: DatabasePool) throws -> Double {
    try cost { id in try pool.read { try Self.row(id, in: $0) } }
  }

  /// Returns the microseconds per read with GRDB's row API on an open connection: the lower limit with GRDB.
  func grdbOpen(_ queue: DatabaseQueue) throws -> Double {
    try queue.unsafeRead { database in try cost { id in try Self.row(id, in: database) } }
  }

  private static func row(_ id: String, in transaction: ReadTransaction) throws -> Int {
    try transaction.queryOne(sql, [.text(id)]) { row in
      let texts = (try row.text(0), try row.text(1), try row.text(2), try row.text(3))
      return texts.3.utf8.count + Int(try row.integer(4))
    } ?? 0
  }

  private static func row(_ id: String, in database: Database) throws -> Int {
    let statement = try database.cachedStatement(sql: sql)
    return try Row.fetchOne(statement, arguments: [id]).map { row in
      let texts: (String, String, String, String) = (row[0], row[1], row[2], row[3])
      return texts.3.utf8.count + row[4]
    } ?? 0
  }

  private func cost(_ read: (String) throws -> Int) throws -> Double {
    let begun = ContinuousClock.now
    var bytes = 0
    for index in 0..<reads { bytes += try read(ids[index % Self.rows]) }
    let seconds = begun.elapsedSeconds
    guard bytes >= reads * InsertBench.body.utf8.count else {
      throw StoreError(.corrupt, "a read returned less than its row")
    }
    return seconds / Double(reads) * 1_000_000
  }
}
