import CampanileRPC
import CampanileStore

/// Delivery with its store open.
final class RunningDelivery: Sendable {
  let delivery: PushDelivery
  let store: Store
  let dispatcher: PushDispatcher
  let tokens: ProviderTokens
  let routing: SigningRouting
  let sender: APNsSender
  /// For calls about channels.
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

  /// What operators and the other services call.
  func services(limits: ActivitiesLimits) -> [any RPCService] {
    [
      SigningService(delivery: self),
      PushDeliveryService(
        store: store, clockMs: delivery.environment.nowMs, board: delivery.board, limits: limits),
      BroadcastChannelsService(delivery: self, caller: caller),
    ]
  }

  /// Sends until the task is cancelled.
  func run() async { await dispatcher.run() }

  /// After `run` has ended: waits for the answers that are still to come, and closes the connections.
  func finish(timeoutMs: Int64) async {
    await dispatcher.drain(timeoutMs: timeoutMs)
    sender.shutDown()
    caller.shutDown()
  }

  /// Takes up new keys, and drops what is past its time, in small batches. Answers how many rows went; to be called about
  /// once a minute.
  func maintain(nowMs: Int64) async throws -> Int {
    delivery.loadKeys()
    return try await DeliveryRetention(store: store, board: delivery.board, limits: delivery.configuration.limits)
      .run(nowMs: nowMs, budget: delivery.configuration.budget)
  }
}
