import CampanileAPI
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
  /// A template, heartbeat or webhook of a user; nil when the user has none with this id.
  func automation<M: ProtoMessage>(_ kind: AutomationKind, _ id: String, user: String, as type: M.Type) throws -> M? {
    try queryOne(AutomationTable.oneSQL, [.text(user), .integer(kind.rawValue), .text(id)]) { row in
      try StoredJSON.message(type, row, 0, "a row of automation")
    }
  }

  /// One page, in the order of the ids, and one row more.
  func automation<M: ProtoMessage>(_ query: AutomationQuery, as type: M.Type) throws -> [M] {
    try self.query(
      AutomationTable.listSQL,
      [
        .text(query.position.user), .integer(query.kind.rawValue), .text(query.position.position.first ?? ""),
        .int(query.position.pageSize + 1),
      ], rowsMax: query.position.pageSize + 1
    ) { row in
      try StoredJSON.message(type, row, 0, "a row of automation")
    }
  }
}

extension WriteTransaction {
  /// Throws `AUTOMATION_EXHAUSTED` when the user has as many as may be.
  func addAutomation(_ kind: AutomationKind, _ id: String, _ message: some ProtoMessage, user: String) throws {
    try addAutomation(kind, id, payload: message.jsonUTF8Bytes(), user: user)
  }

  /// `payload` is the ProtoJSON of the message.
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

  /// Throws NOT_FOUND when the user has none with this id.
  func deleteAutomation(_ kind: AutomationKind, _ id: String, user: String, field: String) throws {
    let count = try execute(AutomationTable.deleteSQL, [.text(user), .integer(kind.rawValue), .text(id)])
    if count == 0 { throw kind.notFound(id, field: field) }
  }

  /// Sets when a heartbeat is missed; nil waits for nothing.
  func setHeartbeatTimer(_ id: String, dueMs: Int64?, user: String, _ board: CommitBoard) throws {
    guard let dueMs else { return try clearTimer(TimerKind.heartbeat, id, user: user) }
    try setTimer(.heartbeat, id, user: user, dueMs: dueMs, board)
  }
}
