public import CampanileClient
public import Foundation

extension SyncZone {
  /// Publishes a message to the user's other devices: at once, or when there is a network. It arrives once.
  ///
  /// `notificationRead` and `notificationDeleted` also change the user's notifications on the server.
  @discardableResult
  public func publish(
    _ type: CompanionMessage.UpdateType, entityID: String? = nil, at date: Date = Date()
  ) throws(RPCError) -> CompanionMessage {
    let message = CompanionMessage(type, entityID: entityID, at: date)
    // The order counts for each object only: a notification is read, then deleted.
    try outbox.add(
      DevicesServiceMethods.publishUpdate, PublishUpdateRequest(deviceId: device.id, message: message.message),
      object: entityID ?? device.id)
    return message
  }

  /// The messages of this device that wait to be sent.
  public func waitingMessages() throws(RPCError) -> [CompanionMessage] {
    try outbox.entries().compactMap { entry in
      let request: PublishUpdateRequest? = entry.request(of: DevicesServiceMethods.publishUpdate)
      return request?.message.map { CompanionMessage($0) }
    }
  }

  /// Receives the messages of the user's other devices until the task is cancelled, or the server refuses the watch.
  ///
  /// Each message arrives once, also one that came over WatchConnectivity before. After a crash during `handle`, the
  /// message arrives again.
  public func receive(_ handle: (CompanionMessage) async throws -> Void) async throws {
    while true {
      try await register()
      do {
        for try await event in campanile.sync.watchUpdates(
          .init(deviceId: device.id, afterSequence: try store.state().afterSequence))
        {
          guard case .change(let update, _) = event else { continue }
          try await received(update, handle)
        }
      } catch let error as RPCError where error.code == .notFound {
        // The user has removed the device in another app. Its messages begin anew.
        try store.update { ($0.isRegistered, $0.afterSequence) = (false, 0) }
      }
    }
  }

  /// Receives the messages that wait on the server, and returns. For background launches, and for watchOS.
  public func receiveWaiting(_ handle: (CompanionMessage) async throws -> Void) async throws {
    try await register()
    var hasMore = true
    while hasMore {
      let page = try await campanile.sync.devices.listUpdates(
        .init(deviceId: device.id, afterSequence: try store.state().afterSequence))
      for update in page.updates { try await received(update, handle) }
      hasMore = page.hasMore
    }
  }

  /// Handles a message that came over WatchConnectivity, unless it has arrived from the server before.
  ///
  /// - Parameter source: The id of the device that sent it.
  public func receivedFromCompanion(
    _ message: CompanionMessage, source: String, _ handle: (CompanionMessage) async throws -> Void
  ) async throws {
    guard try store.update({ $0.isNew(message, from: source) }) else { return }
    try await handle(message)
  }

  /// Registers the device, once.
  public func register() async throws {
    guard try !store.state().isRegistered else { return }
    _ = try await campanile.sync.devices.registerDevice(
      .init(device: SyncDevice(id: device.id, role: device.role, displayName: device.displayName)))
    try store.update { $0.isRegistered = true }
  }

  /// Requests a background push for each change of the zone and each message that waits, while the app has no stream.
  ///
  /// The push goes to the device token that the app has registered for the installation, as by the registrar of
  /// CampanileActivities. Call `SyncModel.refresh` when it arrives. Repeating the call has no further effect.
  ///
  /// - Parameters:
  ///   - app: The bundle id of the app that is woken.
  ///   - installationID: The installation's id at the registrar.
  public func subscribe(app: String, installationID: String) async throws {
    try await register()
    _ = try await campanile.sync.devices.setSubscriptions(
      .init(
        deviceId: device.id, subscriptions: [.init(zoneId: zoneID)], wakesForUpdates: true, app: app,
        installationId: installationID))
  }

  private func received(
    _ update: SyncUpdate, _ handle: (CompanionMessage) async throws -> Void
  ) async throws {
    let message = CompanionMessage(update.message ?? SyncUpdateMessage(type: .fullSync))
    // The service's own messages have no sender, and all of them mean the same.
    let isNew = try update.sourceDeviceId.isEmpty || isNew(message, update.sourceDeviceId)
    if isNew { try await handle(message) }
    try store.update { state in
      _ = state.isNew(message, from: update.sourceDeviceId)
      state.afterSequence = max(state.afterSequence, update.sequence)
    }
    // A lost acknowledgement is harmless: a later one includes it.
    _ = try? await campanile.sync.devices.acknowledgeUpdates(
      .init(deviceId: device.id, throughSequence: update.sequence))
  }

  private func isNew(_ message: CompanionMessage, _ source: String) throws(RPCError) -> Bool {
    var state = try store.state()
    return state.isNew(message, from: source)
  }
}
