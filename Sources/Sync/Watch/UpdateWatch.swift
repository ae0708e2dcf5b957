import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// An open watch of a device's messages. Sends waiting and new messages, each once and in order.
struct UpdateWatch: Sendable {
  static let pageUpdates = 64

  let repository: any SyncRepository
  let hub: WatchHub

  /// Runs until the task is cancelled, the service stops, `send` throws, or the device is unregistered.
  func run(
    device: String, after start: Int64, user: String, send: (WatchUpdatesResponse) async throws -> Void
  ) async throws {
    let signal = try hub.add(user: user)
    defer { hub.remove(signal, user: user) }
    var position = start
    while true {
      let updates = try repository.updates(
        for: device, after: position, user: user, countMax: Self.pageUpdates)
      for update in updates {
        position = update.sequence
        try await send(WatchUpdatesResponse(update: update))
      }
      // A message published after this read sets the signal, which remembers it.
      if updates.count < Self.pageUpdates { try await signal.wait() }
    }
  }
}
