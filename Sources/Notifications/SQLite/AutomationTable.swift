import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// The table `automation`: templates, heartbeats and webhooks as ProtoJSON, by user, kind and id.
enum AutomationTable {
  static let oneSQL = "SELECT payload FROM automation WHERE user_id = $1 AND kind = $2 AND id = $3"
  static let countSQL = "SELECT count(*) FROM automation WHERE user_id = $1 AND kind = $2"
  static let listSQL = """
    SELECT payload FROM automation WHERE user_id = $1 AND kind = $2 AND id > $3 ORDER BY id LIMIT $4
    """
  static let updateSQL = "UPDATE automation SET payload = $1 WHERE user_id = $2 AND kind = $3 AND id = $4"
  static let deleteSQL = "DELETE FROM automation WHERE user_id = $1 AND kind = $2 AND id = $3"
}

extension ReadTransaction {
  /// Returns a template, heartbeat or webhook of a user, or nil if the user has none with this id.
  func automation<M: ProtoMessage>(_ kind: AutomationKind, _ id: String, user: String, as type: M.Type) throws -> M? {
    try queryOne(AutomationTable.oneSQL, [.text(user), .integer(kind.rawValue), .text(id)]) { row in
      try StoredJSON.message(type, row, 0, "a row of automation")
    }
  }

  /// Returns one page, ordered by id.
  func automation<M: ProtoMessage>(_ query: AutomationQuery, as type: M.Type) throws -> PageRows<M> {
    var rows = PageRows<M>(countMax: query.position.pageSize)
    try forEach(
      AutomationTable.listSQL,
      [
        .text(query.position.user), .integer(query.kind.rawValue), .text(query.position.position.first ?? ""),
        .int(query.position.pageSize + 1),
      ]
    ) { row in
      rows.add(try StoredJSON.message(type, row, 0, "a row of automation"), sizeBytes: try row.bytes(0).count)
    }
    return rows
  }
}

extension WriteTransaction {
  /// Throws `AUTOMATION_EXHAUSTED` if the user already has the maximum.
  func addAutomation(_ kind: AutomationKind, _ id: String, _ message: some ProtoMessage, user: String) throws {
    try addAutomation(kind, id, payload: message.jsonUTF8Bytes(), user: user)
  }

  /// - Parameter payload: The ProtoJSON of the message.
  func addAutomation(_ kind: AutomationKind, _ id: String, payload: [UInt8], user: String) throws {
    let count = try queryOne(AutomationTable.countSQL, [.text(user), .integer(kind.rawValue)]) { try $0.integer(0) }
    guard (count ?? 0) < AutomationKind.countMax else { throw kind.exhausted }
    try execute(
      "INSERT INTO automation (user_id, kind, id, payload) VALUES ($1, $2, $3, $4)",
      [.text(user), .integer(kind.rawValue), .text(id), .blob(payload)])
  }

  func updateAutomation(_ kind: AutomationKind, _ id: String, _ message: some ProtoMessage, user: String) throws {
    try execute(
      AutomationTable.updateSQL,
      [.blob(message.jsonUTF8Bytes()), .text(user), .integer(kind.rawValue), .text(id)])
  }

  /// Throws NOT_FOUND if the user has none with this id, and ABORTED if `expected` is set and is not its etag.
  ///
  /// - Parameter etag: The etag of a stored object.
  func deleteAutomation<M: ProtoMessage>(
    _ kind: AutomationKind, _ id: String, user: String, field: String, expected: String, etag: (M) -> String
  ) throws {
    if !expected.isEmpty, let found = try automation(kind, id, user: user, as: M.self), etag(found) != expected {
      throw RPCError.etagMismatch(field: "etag", current: etag(found))
    }
    let count = try executeCounting(AutomationTable.deleteSQL, [.text(user), .integer(kind.rawValue), .text(id)])
    if count == 0 { throw kind.notFound(id, field: field) }
  }

  /// Sets the time at which a heartbeat counts as missed; nil clears the timer.
  func setHeartbeatTimer(_ id: String, dueMs: Int64?, user: String, _ notifier: CommitNotifier) throws {
    guard let dueMs else { return try clearTimer(NotificationTimerKind.heartbeat, id, user: user) }
    try setTimer(.heartbeat, id, user: user, dueMs: dueMs, notifier)
  }
}
