import CampanileStore
import Foundation
import GRDB

/// Inserts the same row with the store and with each of its competitors.
struct InsertBench {
  static let schema = [
    Migration(
      "0001-notifications",
      """
      CREATE TABLE notifications (id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, title TEXT NOT NULL,
        body TEXT NOT NULL, created_at_ms BIGINT NOT NULL);
      CREATE INDEX notifications_owner ON notifications (owner, created_at_ms)
      """)
  ]
  static let sql = "INSERT INTO notifications (id, owner, title, body, created_at_ms) VALUES ($1, $2, $3, $4, $5)"
  static let body = String(repeating: "x", count: 400)

  enum Order: String { case ordered, random }

  let clients: Int
  let seconds: Double

  static func id(_ order: Order, _ round: Int, _ client: Int, _ index: Int) -> String {
    switch order {
    case .ordered: return "018f\(1_000_000_000 + index)-\(client)-\(round)"
    case .random:
      var bits = UInt64(bitPattern: Int64(index &* 1_000_003 &+ client &* 7_919 &+ round &* 104_729))
      bits = (bits ^ (bits >> 31)) &* 0x7fb5_d329_728e_a185
      bits = (bits ^ (bits >> 27)) &* 0x81da_def4_bc2d_d44d
      return String(bits, radix: 16) + "-\(client)-\(round)-\(index)"
    }
  }

  /// Returns the rows per second through the store's group-commit writer.
  func groupCommit(_ store: Store, _ order: Order, round: Int) async throws -> Double {
    try await rate { client, index in
      let id = Self.id(order, round, client, index)
      _ = try await store.write { transaction in
        try transaction.execute(
          Self.sql,
          [.text(id), .text("user-\(client)"), "A title of a notification", .text(Self.body), .int(index)])
      }
    }
  }

  /// Returns the rows per second with one commit per row, through GRDB's writer on a file with the same settings.
  func commitEach(_ queue: DatabaseQueue, _ order: Order, round: Int) async throws -> Double {
    try await rate { client, index in
      let id = Self.id(order, round, client, index)
      try await queue.write { database in
        try database.cachedStatement(sql: Self.sql).execute(
          arguments: [id, "user-\(client)", "A title of a notification", Self.body, index])
      }
    }
  }

  private func rate(_ insert: @escaping @Sendable (Int, Int) async throws -> Void) async throws -> Double {
    let begun = ContinuousClock.now
    let end = begun + .seconds(seconds)
    let count = try await withThrowingTaskGroup(of: Int.self) { group in
      for client in 0..<clients {
        group.addTask {
          var index = 0
          while ContinuousClock.now < end {
            try await insert(client, index)
            index += 1
          }
          return index
        }
      }
      return try await group.reduce(0, +)
    }
    return Double(count) / begun.elapsedSeconds
  }

  static func commitEachQueue(_ path: String) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.journalMode = .wal
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    try queue.writeWithoutTransaction { database in
      try database.execute(sql: "PRAGMA synchronous = FULL")
      for migration in schema { try database.execute(sql: migration.sql) }
    }
    return queue
  }
}

extension ContinuousClock.Instant {
  var elapsedSeconds: Double {
    let (seconds, attoseconds) = (ContinuousClock.now - self).components
    return Double(seconds) + Double(attoseconds) * 1e-18
  }
}
