import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteAutomationRepository {
  func createHeartbeat(_ draft: Heartbeat, user: String, idempotency: IdempotentRequest?) async throws -> Heartbeat {
    try await create(idempotency) { transaction in
      let (id, nowMs) = ids.next(prefix: AutomationKind.heartbeat.prefix)
      let bucket = try transaction.queryOne(
        BucketState.selectSQL, [.text(user), .text(draft.bucketId)]
      ) { try BucketState($0) }
      guard let bucket else { throw RPCError.bucketNotFound(draft.bucketId, field: "heartbeat.bucketId") }
      try bucket.requirePublisher(draft.bucketId, field: "heartbeat.bucketId", nowMs: nowMs)
      let heartbeat = HeartbeatRules.begun(draft, id: id, nowMs: nowMs)
      try transaction.addAutomation(.heartbeat, id, heartbeat, user: user)
      try transaction.setHeartbeatTimer(id, dueMs: heartbeat.dueTime?.millisecondsSince1970, user: user, notifier)
      return heartbeat
    }
  }

  func heartbeats(_ query: AutomationQuery) async throws -> PageRows<Heartbeat> {
    try await readSingle { try $0.automation(query, as: Heartbeat.self) }
  }

  func beat(_ id: String, user: String, idempotency: IdempotentRequest?) async throws -> Heartbeat {
    try await create(idempotency) { try Self.beat(id, user: user, nowMs: clockMs(), $0, notifier) }
  }

  func deleteHeartbeat(_ id: String, etag: String, user: String) async throws {
    try await storeWrite { transaction in
      try transaction.deleteAutomation(.heartbeat, id, user: user, field: "heartbeatId", expected: etag) {
        (heartbeat: Heartbeat) in heartbeat.etag
      }
      try transaction.setHeartbeatTimer(id, dueMs: nil, user: user, notifier)
    }
  }

  /// Records a beat: the heartbeat is next due after its period and grace, counted from now. Throws NOT_FOUND, naming
  /// `heartbeatId`.
  static func beat(
    _ id: String, user: String, nowMs: Int64, _ transaction: WriteTransaction, _ notifier: CommitNotifier
  ) throws -> Heartbeat {
    try beat(heartbeat(id, user: user, transaction), user: user, nowMs: nowMs, transaction, notifier)
  }

  /// Returns a user's heartbeat. Throws NOT_FOUND of `heartbeatId`.
  static func heartbeat(_ id: String, user: String, _ transaction: ReadTransaction) throws -> Heartbeat {
    guard let found = try transaction.automation(.heartbeat, id, user: user, as: Heartbeat.self) else {
      throw AutomationKind.heartbeat.notFound(id, field: "heartbeatId")
    }
    return found
  }

  /// Records a beat of a heartbeat that was read in the same transaction.
  static func beat(
    _ found: Heartbeat, user: String, nowMs: Int64, _ transaction: WriteTransaction, _ notifier: CommitNotifier
  ) throws -> Heartbeat {
    let heartbeat = HeartbeatRules.beaten(found, nowMs: nowMs)
    try transaction.updateAutomation(.heartbeat, heartbeat.id, heartbeat, user: user)
    try transaction.setHeartbeatTimer(
      heartbeat.id, dueMs: heartbeat.dueTime?.millisecondsSince1970, user: user, notifier)
    return heartbeat
  }

  /// Marks a heartbeat that is due as missing, and returns the notification to publish. Corrects its timer in any case.
  ///
  /// - Returns: Nil if the heartbeat no longer exists, is not due yet or is already missing.
  static func missed(
    _ id: String, user: String, nowMs: Int64, _ transaction: WriteTransaction, _ notifier: CommitNotifier
  ) throws -> (heartbeat: Heartbeat, draft: Notification)? {
    guard let found = try transaction.automation(.heartbeat, id, user: user, as: Heartbeat.self) else {
      try transaction.setHeartbeatTimer(id, dueMs: nil, user: user, notifier)
      return nil
    }
    guard let heartbeat = HeartbeatRules.missed(found, nowMs: nowMs) else {
      try transaction.setHeartbeatTimer(id, dueMs: found.dueTime?.millisecondsSince1970, user: user, notifier)
      return nil
    }
    try transaction.updateAutomation(.heartbeat, id, heartbeat, user: user)
    try transaction.setHeartbeatTimer(id, dueMs: nil, user: user, notifier)
    return (heartbeat, HeartbeatRules.notification(of: heartbeat))
  }
}
