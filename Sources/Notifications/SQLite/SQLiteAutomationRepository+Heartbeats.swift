import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteAutomationRepository {
  func createHeartbeat(_ draft: Heartbeat, user: String, repeatable: RepeatableRequest?) async throws -> Heartbeat {
    try await create(repeatable) { transaction in
      let (id, nowMs) = ids.next(prefix: AutomationKind.heartbeat.prefix)
      try Self.requirePublisher(draft.bucketId, user: user, nowMs: nowMs, transaction)
      let heartbeat = HeartbeatRules.begun(draft, id: id, nowMs: nowMs)
      try transaction.addAutomation(.heartbeat, id, heartbeat, user: user)
      try transaction.setHeartbeatTimer(id, dueMs: heartbeat.dueTime?.millisecondsSince1970, user: user)
      tellTimers(heartbeat)
      return heartbeat
    }
  }

  private func tellTimers(_ heartbeat: Heartbeat) {
    if let dueMs = heartbeat.dueTime?.millisecondsSince1970 { board.scheduled(dueMs) }
  }

  func heartbeats(_ query: AutomationQuery) throws -> [Heartbeat] {
    try read { try $0.automation(query, as: Heartbeat.self) }
  }

  func beat(_ id: String, user: String) async throws -> Heartbeat {
    try await write { transaction in
      let heartbeat = try Self.beat(id, user: user, nowMs: clockMs(), transaction)
      tellTimers(heartbeat)
      return heartbeat
    }
  }

  func deleteHeartbeat(_ id: String, user: String) async throws {
    try await write { transaction in
      try transaction.deleteAutomation(.heartbeat, id, user: user, field: "heartbeatId")
      try transaction.setHeartbeatTimer(id, dueMs: nil, user: user)
    }
  }

  /// Takes a beat: the heartbeat is due again its period and grace from now. Throws NOT_FOUND of `heartbeatId`.
  static func beat(_ id: String, user: String, nowMs: Int64, _ transaction: WriteTransaction) throws -> Heartbeat {
    guard let found = try transaction.automation(.heartbeat, id, user: user, as: Heartbeat.self) else {
      throw AutomationKind.heartbeat.notFound(id, field: "heartbeatId")
    }
    let heartbeat = HeartbeatRules.beaten(found, nowMs: nowMs)
    try transaction.updateAutomation(.heartbeat, id, heartbeat, user: user)
    try transaction.setHeartbeatTimer(id, dueMs: heartbeat.dueTime?.millisecondsSince1970, user: user)
    return heartbeat
  }

  /// Marks a heartbeat whose time has come as missing, and says what to publish.
  ///
  /// Nil when there is nothing to publish: it is gone, not due yet, or missing already. Its timer is right afterwards.
  static func missed(
    _ id: String, user: String, nowMs: Int64, _ transaction: WriteTransaction
  ) throws -> (heartbeat: Heartbeat, draft: Notification)? {
    guard let found = try transaction.automation(.heartbeat, id, user: user, as: Heartbeat.self) else {
      try transaction.setHeartbeatTimer(id, dueMs: nil, user: user)
      return nil
    }
    guard let heartbeat = HeartbeatRules.missed(found, nowMs: nowMs) else {
      try transaction.setHeartbeatTimer(id, dueMs: found.dueTime?.millisecondsSince1970, user: user)
      return nil
    }
    try transaction.updateAutomation(.heartbeat, id, heartbeat, user: user)
    try transaction.setHeartbeatTimer(id, dueMs: nil, user: user)
    return (heartbeat, HeartbeatRules.notification(of: heartbeat))
  }

  /// Throws NOT_FOUND unless the user has the bucket now, and PERMISSION_DENIED unless as publisher at least.
  private static func requirePublisher(
    _ bucketID: String, user: String, nowMs: Int64, _ transaction: WriteTransaction
  ) throws {
    let found = try transaction.queryOne(AutomationTable.bucketSQL, [.text(user), .text(bucketID)]) { row in
      (role: try row.integer(0), endMs: try row.integerIfPresent(1))
    }
    guard let found, found.endMs.map({ $0 > nowMs }) ?? true else {
      throw RPCError.bucketNotFound(bucketID, field: "heartbeat.bucketId")
    }
    guard found.role >= Int64(BucketRole.publisher.rawValue) else {
      throw RPCError.roleMissing(.publisher, field: "heartbeat.bucketId")
    }
  }
}
