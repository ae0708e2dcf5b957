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
    try PushTable.enqueue(order, queue: self, in: transaction)
  }
}
