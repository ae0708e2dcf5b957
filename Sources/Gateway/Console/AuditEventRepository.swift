import CampanileAPI
import CampanileStore

/// An event of the audit log. Times are milliseconds since 1970.
struct StoredAuditEvent: Sendable, Hashable {
  var id: Int64 = 0
  var createdAtMs: Int64
  var action: AuditEvent.Action
  var principal = ""
  var address = ""
  var subject = ""
  var method = SignInMethod.unspecified
  var count: Int64 = 1
  var reason = ""
}

/// The gateway's audit log in the database.
struct AuditEventRepository: Sendable {
  let store: Store
  var limits = ConsoleLimits()

  private static let columns = "id, created_at_ms, action, principal, address, subject, method, count, reason"

  /// Events deleted in one transaction.
  static let purgeRows = 1_000
  /// The newest failure of an address and method within the window. Reads only the events of the window.
  static let failureSQL = """
    SELECT id FROM audit_events
    WHERE action = $1 AND address = $2 AND method = $3 AND id > coalesce(
      (SELECT id FROM audit_events WHERE created_at_ms <= $4 ORDER BY created_at_ms DESC LIMIT 1), 0)
    ORDER BY id DESC LIMIT 1
    """

  func insert(_ event: StoredAuditEvent) async throws {
    try await store.write { try Self.insert(event, in: $0) }
  }

  static func insert(_ event: StoredAuditEvent, in transaction: WriteTransaction) throws {
    try transaction.execute(
      "INSERT INTO audit_events (created_at_ms, action, principal, address, subject, method, count, reason)"
        + " VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
      [
        .integer(event.createdAtMs), .integer(Int64(event.action.rawValue)), .text(event.principal),
        .text(event.address), .text(event.subject), .integer(Int64(event.method.rawValue)), .integer(event.count),
        .text(event.reason),
      ])
  }

  /// Stores a failed sign-in, or counts it in the event of the same address and method within the window.
  func insert(failure event: StoredAuditEvent) async throws {
    try await store.write { [limits] transaction in
      let known = try transaction.queryOne(
        Self.failureSQL,
        [
          .integer(Int64(event.action.rawValue)), .text(event.address), .integer(Int64(event.method.rawValue)),
          .integer(event.createdAtMs - limits.failureWindowMs),
        ]
      ) { try $0.integer(0) }
      guard let known else { return try Self.insert(event, in: transaction) }
      try transaction.execute(
        "UPDATE audit_events SET count = count + 1, reason = $2 WHERE id = $1", [.integer(known), .text(event.reason)])
    }
  }

  /// Returns up to `count` events with ids below `before`, newest first.
  func list(before: Int64?, action: AuditEvent.Action, count: Int) async throws -> [StoredAuditEvent] {
    let filter = action == .unspecified ? "" : " AND action = $3"
    let values: [SQLValue] = [.integer(before ?? .max), .int(count)]
    return try await store.readSingle { transaction in
      try transaction.query(
        "SELECT \(Self.columns) FROM audit_events WHERE id < $1\(filter) ORDER BY id DESC LIMIT $2",
        action == .unspecified ? values : values + [.integer(Int64(action.rawValue))]
      ) { row in
        StoredAuditEvent(
          id: try row.integer(0), createdAtMs: try row.integer(1),
          action: AuditEvent.Action(rawValue: Int32(truncatingIfNeeded: try row.integer(2))),
          principal: try row.text(3), address: try row.text(4), subject: try row.text(5),
          method: SignInMethod(rawValue: Int32(truncatingIfNeeded: try row.integer(6))), count: try row.integer(7),
          reason: try row.text(8))
      }
    }
  }

  /// Deletes up to `purgeRows` events that are too old or too many, and returns their number.
  func purge(nowMs: Int64) async throws -> Int {
    try await store.write { [limits] transaction in
      let newest = try transaction.queryOne("SELECT max(id) FROM audit_events") { try $0.integerIfPresent(0) } ?? nil
      guard let newest else { return 0 }
      let ids = try transaction.query(
        "SELECT id FROM audit_events WHERE id <= $1 OR created_at_ms < $2 ORDER BY id LIMIT \(Self.purgeRows)",
        [.integer(newest - Int64(limits.auditEventsMax)), .integer(nowMs - limits.auditRetentionMs)]
      ) { try $0.integer(0) }
      for id in ids { try transaction.execute("DELETE FROM audit_events WHERE id = $1", [.integer(id)]) }
      return ids.count
    }
  }
}
