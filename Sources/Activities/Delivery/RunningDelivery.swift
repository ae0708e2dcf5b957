import CampanileStore

/// Delivery with an open store.
final class RunningDelivery: Sendable {
  let delivery: PushDelivery
  let store: Store
  let dispatcher: PushDispatcher
  let tokens: ProviderTokens
  let routing: SigningRouting
  let sender: APNsSender
  /// Sends requests about channels.
  let caller: APNsCaller

  init(
    delivery: PushDelivery, store: Store, dispatcher: PushDispatcher, tokens: ProviderTokens, routing: SigningRouting,
    sender: APNsSender, caller: APNsCaller
  ) {
    self.delivery = delivery
    self.store = store
    self.dispatcher = dispatcher
    self.tokens = tokens
    self.routing = routing
    self.sender = sender
    self.caller = caller
  }

  /// Sends pushes until the task is cancelled.
  func run() async {
    await dispatcher.run { [delivery, store] in
      // Another process may have delivered in the meantime.
      if store.isShared { try await delivery.learn(store) }
    }
  }

  /// Waits for outstanding responses, then closes the connections. Call it after `run` has ended.
  func finish(timeoutMs: Int64) async {
    await dispatcher.drain(timeoutMs: timeoutMs)
    sender.shutDown()
    caller.shutDown()
  }

  /// Loads new keys and deletes expired rows in small batches. Call it about once a minute.
  ///
  /// - Returns: The number of deleted rows.
  func maintain(nowMs: Int64) async throws -> Int {
    delivery.loadKeys()
    let configuration = delivery.configuration
    return try await DeliveryRetention(store: store, notifier: delivery.notifier, limits: configuration.limits)
      .run(nowMs: nowMs, budgets: [configuration.budget, configuration.frequentBudget])
  }
}
