import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteAutomationRepository {
  func createHeartbeat(_ draft: Heartbeat, user: String, repeatable: RepeatableRequest?) async throws -> Heartbeat {
    try await create(repeatable) { transaction in
      let (id, nowMs) = ids.next(prefix: AutomationKind.heartbeat.prefix)
      let bucket = try transaction.queryOne(
        BucketState.selectSQL, [.text(user), .text(draft.bucketId)]
      ) { try BucketState($0) }
      guard let bucket else { throw RPCError.bucketNotFound(draft.bucketId, field: "heartbeat.bucketId") }
      try bucket.requirePublisher(draft.bucketId, field: "heartbeat.bucketId", nowMs: nowMs)
      let heartbeat = HeartbeatRules.begun(draft, id: id, nowMs: nowMs)
      try transaction.addAutomation(.heartbeat, id, heartbeat, user: user)
      try transaction.setHeartbeatTimer(id, dueMs: heartbeat.dueTime?.millisecondsSince1970, user: user, board)
      return heartbeat
    }
  }

  func heartbeats(_ query: AutomationQuery) throws -> [Heartbeat] {
    try readSingle { try $0.automation(query, as: Heartbeat.self) }
  }

  func beat(_ id: String, user: String) async throws -> Heartbeat {
    try await storeWrite { try Self.beat(id, user: user, nowMs: clockMs(), $0, board) }
  }

  func deleteHeartbeat(_ id: String, user: String) async throws {
    try await storeWrite { transaction in
      try transaction.deleteAutomation(.heartbeat, id, user: user, field: "heartbeatId")
      try transaction.setHeartbeatTimer(id, dueMs: nil, user: user, board)
    }
  }

  /// Takes a beat: the heartbeat is due again its period and grace from now. Throws NOT_FOUND of `heartbeatId`.
  static func beat(
    _ id: String, user: String, nowMs: Int64, _ transaction: WriteTransaction, _ board: CommitBoard
  ) throws -> Heartbeat {
    guard let found = try transaction.automation(.heartbeat, id, user: user, as: Heartbeat.self) else {
      throw AutomationKind.heartbeat.notFound(id, field: "heartbeatId")
    }
    let heartbeat = HeartbeatRules.beaten(found, nowMs: nowMs)
    try transaction.updateAutomation(.heartbeat, id, heartbeat, user: user)
    try transaction.setHeartbeatTimer(id, dueMs: heartbeat.dueTime?.millisecondsSince1970, user: user, board)
    return heartbeat
  }

  /// Marks a heartbeat whose time has come as missing, and says what to publish.
  ///
  /// Nil when there is nothing to publish: it is gone, not due yet, or missing already. Its timer is right afterwards.
  static func missed(
    _ id: String, user: String, nowMs: Int64, _ transaction: WriteTransaction, _ board: CommitBoard
  ) throws -> (heartbeat: Heartbeat, draft: Notification)? {
    guard let found = try transaction.automation(.heartbeat, id, user: user, as: Heartbeat.self) else {
      try transaction.setHeartbeatTimer(id, dueMs: nil, user: user, board)
      return nil
    }
    guard let heartbeat = HeartbeatRules.missed(found, nowMs: nowMs) else {
      try transaction.setHeartbeatTimer(id, dueMs: found.dueTime?.millisecondsSince1970, user: user, board)
      return nil
    }
    try transaction.updateAutomation(.heartbeat, id, heartbeat, user: user)
    try transaction.setHeartbeatTimer(id, dueMs: nil, user: user, board)
    return (heartbeat, HeartbeatRules.notification(of: heartbeat))
  }
}
