import CampanileStore

/// Delivery with its store open.
final class RunningDelivery: Sendable {
  let delivery: PushDelivery
  let store: Store
  let dispatcher: PushDispatcher
  let tokens: ProviderTokens
  let routing: SigningRouting
  let sender: APNsSender

  init(
    delivery: PushDelivery, store: Store, dispatcher: PushDispatcher, tokens: ProviderTokens, routing: SigningRouting,
    sender: APNsSender
  ) {
    self.delivery = delivery
    self.store = store
    self.dispatcher = dispatcher
    self.tokens = tokens
    self.routing = routing
    self.sender = sender
  }

  /// Sends until the task is cancelled.
  func run() async { await dispatcher.run() }

  /// After `run` has ended: waits for the answers that are still to come, and closes the connections.
  func finish(timeoutMs: Int64) async {
    await dispatcher.drain(timeoutMs: timeoutMs)
    sender.shutDown()
  }

  /// Drops what is past its time, in small batches. Answers how many rows went; to be called about once a minute.
  func maintain(nowMs: Int64) async throws -> Int {
    try await DeliveryRetention(store: store, board: delivery.board, limits: delivery.configuration.limits)
      .run(nowMs: nowMs, budget: delivery.configuration.budget)
  }
}
