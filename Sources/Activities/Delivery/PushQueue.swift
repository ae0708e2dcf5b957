import CampanileRPC
import CampanileStore

/// The queue of pushes, as the code that changes activities sees it.
struct PushQueue: Sendable {
  let limits: DeliveryLimits
  let board: DeliveryBoard
  let ids: PushIDGenerator
  let nowMs: @Sendable () -> Int64

  /// Queues a push in the transaction of the change that it tells of, and answers its `apns-id`, under which it is sent
  /// however often it must be repeated.
  ///
  /// Throws RESOURCE_EXHAUSTED, reason `PUSHES_EXHAUSTED`, when the queue or the lane is full.
  func enqueue(_ order: PushOrder, in transaction: WriteTransaction) throws -> String {
    try PushTable.enqueue(order, isAdmitted: false, queue: self, in: transaction)
  }

  /// The same for a push that was admitted: it is refused no more.
  func enqueueAdmitted(_ order: PushOrder, in transaction: WriteTransaction) throws -> String {
    try PushTable.enqueue(order, isAdmitted: true, queue: self, in: transaction)
  }

  /// Whether a push to each of some lanes will find room, besides those that were admitted and not queued yet. What takes the
  /// place of a push that waits needs none.
  ///
  /// Throws RESOURCE_EXHAUSTED, reason `PUSHES_EXHAUSTED`.
  func admit(
    _ kind: PushKind, to lanes: [PushLane], besides admitted: Int, in transaction: ReadTransaction
  ) throws {
    if !kind.isBoundedByLane {
      for lane in lanes { try checkRoom(kind, waitingInLane: PushTable.count(lane: lane.text, board, transaction)) }
    }
    let taken = board.queuedCount + Int64(admitted)
    guard taken + Int64(lanes.count) > limits.queuedMax else { return }
    let isFull = try lanes.contains { lane in try !PushTable.hasWaitingState(kind, lane: lane.text, transaction) }
    if isFull { throw Self.exhausted(limits.queuedMax) }
  }

  /// Makes sure that an app's route has its number. Throws RESOURCE_EXHAUSTED, reason `PUSH_ROUTES_EXHAUSTED`.
  func admitRoute(app: String, environment: String, in transaction: WriteTransaction) throws {
    _ = try PushTable.routeID(PushRouteKey(app: app, environment: environment), queue: self, in: transaction)
  }

  /// Throws when one more push does not fit.
  func checkRoom(_ kind: PushKind, waitingInLane count: Int64) throws(RPCError) {
    guard board.queuedCount < limits.queuedMax else { throw Self.exhausted(limits.queuedMax) }
    guard kind.isBoundedByLane || count < limits.queuedPerLaneMax else {
      throw Self.exhausted(Int64(limits.queuedPerLaneMax))
    }
  }

  private static func exhausted(_ limit: Int64) -> RPCError {
    RPCError(
      .resourceExhausted, "too many pushes wait", reason: "PUSHES_EXHAUSTED", errorMetadata: ["limit": "\(limit)"],
      retryAfterMs: 1_000)
  }
}
