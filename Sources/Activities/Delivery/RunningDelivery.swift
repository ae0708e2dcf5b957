import CampanileBase
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

  /// Sends pushes until the task is cancelled, and then waits up to 5 s for the responses to those in flight.
  func run() async {
    await dispatcher.run { [delivery, store] in
      // Another process may have delivered in the meantime.
      if store.isShared { try await delivery.learn(store) }
    }
    // Before the lease is free: a process that took over would send again what is in flight. A task of its own, because
    // this one is cancelled.
    await Task { [dispatcher] in await dispatcher.drain(timeoutMs: Self.drainTimeoutMs) }.value
  }

  /// Shorter than a lease, which is not extended meanwhile.
  private static let drainTimeoutMs: Int64 = 5_000

  var addedKeys: AddedKeys { AddedKeys(delivery: delivery, store: store) }

  /// Follows the other processes on the database until the task is cancelled: the keys that they add and revoke, and
  /// the number of pushes that wait. Returns at once on SQLite.
  func follow() async {
    guard store.isShared else { return }
    var round = 0
    await delivery.notifier.keysSignal.runRounds(
      retryMs: Self.followMs, failed: { delivery.environment.log("following other processes failed: \($0)") }
    ) {
      try await addedKeys.refresh()
      delivery.notifier.recounted(try await store.readSingle { try PushTable.count($0) })
      // The operator's directory of this process.
      if round.isMultiple(of: Self.roundsPerLoad) { delivery.loadKeys(includingAdded: false) }
      round += 1
      return Self.followMs
    }
  }

  private static let followMs: Int64 = 2_000
  private static let roundsPerLoad = 30

  /// Closes the connections. Call it after `run` has ended.
  func close() {
    sender.shutDown()
    caller.shutDown()
  }

  /// Loads new keys and deletes expired rows in small batches. Call it about once a minute.
  ///
  /// - Returns: The number of deleted rows.
  func maintain(nowMs: Int64) async throws -> Int {
    if !store.isShared { delivery.loadKeys() }
    let configuration = delivery.configuration
    return try await DeliveryRetention(store: store, notifier: delivery.notifier, limits: configuration.limits)
      .run(nowMs: nowMs, budgets: [configuration.budget, configuration.frequentBudget])
  }
}
