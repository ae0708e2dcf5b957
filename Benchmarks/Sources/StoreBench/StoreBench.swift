import CampanilePostgreSQL
import CampanileStore
import Foundation

/// Measures durable inserts and reads by key on a new database. Prints one line of JSON.
///
/// usage: StoreBench DIRECTORY|ADDRESS ordered|random CLIENTS SECONDS
/// With the address of a PostgreSQL server, the store is there, and each write has four statements.
/// The rate, the writes per commit and the time of a commit are those of inserts with this number of callers in flight.
/// `singleUs` is the time of a read with `readSingle`, `snapshotUs` with `read`, which opens a snapshot.
@main
struct StoreBench {
  static let schema = [
    Migration(
      "0001-notifications",
      """
      CREATE TABLE notifications (id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, title TEXT NOT NULL,
        body TEXT NOT NULL, created_at_ms BIGINT NOT NULL);
      CREATE INDEX notifications_owner ON notifications (owner, created_at_ms)
      """)
  ]
  /// The tables of the further statements of a write on a server.
  static let changes = Migration(
    "0002-changes",
    """
    CREATE INDEX notifications_title ON notifications (owner, title, id);
    CREATE TABLE changes (id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, at_ms BIGINT NOT NULL);
    CREATE INDEX changes_owner ON changes (owner, id);
    CREATE TABLE counters (name TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL);
    INSERT INTO counters (name, value) VALUES ('all', 0), ('unread', 0);
    """)
  static let insertChange = "INSERT INTO changes (id, owner, at_ms) VALUES ($1, $2, $3)"
  static let count = "UPDATE counters SET value = value + 1 WHERE name = $1"
  static let insert = "INSERT INTO notifications (id, owner, title, body, created_at_ms) VALUES ($1, $2, $3, $4, $5)"
  static let select = "SELECT id, owner, title, body, created_at_ms FROM notifications WHERE id = $1"
  static let body = String(repeating: "x", count: 400)
  static let hotIDs = (0..<1_000).map { "hot-\($0)" }

  static func main() async throws {
    let arguments = CommandLine.arguments.dropFirst()
    guard arguments.count == 4, let place = arguments.first, let clients = Int(arguments[3]),
      let seconds = Double(arguments[4])
    else {
      FileHandle.standardError.write(Data("usage: StoreBench DIRECTORY|ADDRESS ordered|random CLIENTS SECONDS\n".utf8))
      exit(64)
    }
    let isServer = PostgreSQLEngine.isAddress(place)
    let configuration =
      try isServer
      ? StoreConfiguration(PostgreSQLEngine(place)) : StoreConfiguration(path: "\(place)/store.sqlite")
    let store = try Store(configuration, migrations: schema + (isServer ? [changes] : []))
    let isOrdered = arguments[2] == "ordered"
    let rate = try await insertRate(
      store, hasChanges: isServer, isOrdered: isOrdered, clients: clients, seconds: seconds)
    let metrics = store.metrics()
    let commits = Double(max(1, metrics.commits))
    for id in hotIDs { try await insert(id, 0, store, hasChanges: isServer) }
    let reads = isServer ? 2_000 : 100_000
    let single = try readCost(reads) { id in try store.readSingleBlocking { try bytes(id, in: $0) } }
    let snapshot = try readCost(reads) { id in try store.readBlocking { try bytes(id, in: $0) } }
    await store.close()
    print(
      """
      {"rowsPerSecond":\(rate),"writesPerCommit":\(Double(metrics.writes) / commits),\
      "commitUs":\(Double(metrics.commitNsTotal) / commits / 1_000),"singleUs":\(single),"snapshotUs":\(snapshot)}
      """)
  }

  private static func insertRate(
    _ store: Store, hasChanges: Bool, isOrdered: Bool, clients: Int, seconds: Double
  ) async throws -> Double {
    let begun = ContinuousClock.now
    let end = begun + .seconds(seconds)
    let count = try await withThrowingTaskGroup(of: Int.self) { group in
      for client in 0..<clients {
        group.addTask {
          var index = 0
          while ContinuousClock.now < end {
            let id = isOrdered ? "018f\(1_000_000_000 + index)-\(client)" : UUID().uuidString
            try await insert(id, index, store, hasChanges: hasChanges)
            index += 1
          }
          return index
        }
      }
      return try await group.reduce(0, +)
    }
    return Double(count) / ((ContinuousClock.now - begun) / .seconds(1))
  }

  private static func insert(_ id: String, _ index: Int, _ store: Store, hasChanges: Bool) async throws {
    _ = try await store.write { transaction in
      try transaction.execute(
        Self.insert, [.text(id), "user", "A title of a notification", .text(Self.body), .int(index)])
      guard hasChanges else { return }
      try transaction.execute(Self.insertChange, [.text(id), "user", .int(index)])
      try transaction.execute(Self.count, ["all"])
      try transaction.execute(Self.count, ["unread"])
    }
  }

  private static func bytes(_ id: String, in transaction: ReadTransaction) throws -> Int {
    try transaction.queryOne(select, [.text(id)]) { row in
      let texts = (try row.text(0), try row.text(1), try row.text(2), try row.text(3))
      return texts.3.utf8.count + Int(try row.integer(4))
    } ?? 0
  }

  /// Returns the microseconds per read, of a thousand rows in rotation.
  private static func readCost(_ reads: Int, _ read: (String) throws -> Int) throws -> Double {
    let begun = ContinuousClock.now
    var bytes = 0
    for index in 0..<reads { bytes += try read(hotIDs[index % hotIDs.count]) }
    let seconds = (ContinuousClock.now - begun) / .seconds(1)
    guard bytes >= reads * body.utf8.count else { throw StoreError(.corrupt, "a read returned less than its row") }
    return seconds / Double(reads) * 1_000_000
  }
}
