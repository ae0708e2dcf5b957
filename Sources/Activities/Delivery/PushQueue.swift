import CampanileBase
import CampanileRPC
import CampanileStore

/// The queue of pushes, for code that changes activities.
struct PushQueue: Sendable {
  let limits: DeliveryLimits
  let notifier: DeliveryNotifier
  let ids: PushIDGenerator
  let nowMs: @Sendable () -> Int64

  /// Queues a push in the transaction of the change it reports.
  ///
  /// - Returns: The `apns-id`, which stays the same for every attempt.
  /// - Throws: RESOURCE_EXHAUSTED, reason `PUSHES_EXHAUSTED`, if the queue or the lane is full.
  func enqueue(_ order: PushOrder, in transaction: WriteTransaction) throws -> String {
    try PushTable.enqueue(order, isAdmitted: false, queue: self, in: transaction)
  }

  /// Queues an admitted push, which is never rejected.
  func enqueueAdmitted(_ order: PushOrder, in transaction: WriteTransaction) throws -> String {
    try PushTable.enqueue(order, isAdmitted: true, queue: self, in: transaction)
  }

  /// Checks that a push to each of these lanes fits. A push that replaces a waiting one needs no room.
  ///
  /// - Parameter admitted: The number of pushes that were admitted but not yet queued.
  /// - Throws: RESOURCE_EXHAUSTED, reason `PUSHES_EXHAUSTED`.
  func admit(
    _ kind: PushKind, to lanes: [PushLane], besides admitted: Int, in transaction: ReadTransaction
  ) throws {
    if !kind.isBoundedByLane {
      for lane in lanes { try checkRoom(kind, waitingInLane: PushTable.count(lane: lane.text, notifier, transaction)) }
    }
    let taken = notifier.queuedCount + Int64(admitted)
    guard taken + Int64(lanes.count) > limits.queuedMax else { return }
    let isFull = try lanes.contains { lane in try !PushTable.hasWaitingState(kind, lane: lane.text, transaction) }
    if isFull { throw Self.exhausted(limits.queuedMax) }
  }

  /// Ensures that an app's route has a number. Throws RESOURCE_EXHAUSTED, reason `PUSH_ROUTES_EXHAUSTED`.
  func admitRoute(app: String, environment: String, in transaction: WriteTransaction) throws {
    _ = try PushTable.routeID(PushRouteKey(app: app, environment: environment), queue: self, in: transaction)
  }

  /// Throws RESOURCE_EXHAUSTED, reason `PUSHES_EXHAUSTED`, if one more push does not fit.
  func checkRoom(_ kind: PushKind, waitingInLane count: Int64) throws(RPCError) {
    guard notifier.queuedCount < limits.queuedMax else { throw Self.exhausted(limits.queuedMax) }
    guard kind.isBoundedByLane || count < limits.queuedPerLaneMax else {
      throw Self.exhausted(Int64(limits.queuedPerLaneMax))
    }
  }

  private static func exhausted(_ limit: Int64) -> RPCError {
    RPCError(
      .resourceExhausted, "too many pushes are waiting", reason: "PUSHES_EXHAUSTED",
      errorMetadata: ["limit": "\(limit)"], retryAfterMs: 1_000)
  }
}
