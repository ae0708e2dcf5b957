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
    // Register before the first read, so that no message is missed.
    let signal = try hub.add(user: user)
    defer { hub.remove(signal, user: user) }
    var page = try await repository.updates(for: device, after: start, user: user, countMax: Self.pageUpdates)
    try await send(WatchUpdatesResponse(sequence: page.start, event: .started(.init())))
    while true {
      for update in page.updates {
        try await send(WatchUpdatesResponse(sequence: update.sequence, event: .update(update)))
      }
      // A message published after this read sets the signal, which remembers it.
      if !page.hasMore { try await signal.wait() }
      page = try await repository.updates(for: device, after: page.sequence, user: user, countMax: Self.pageUpdates)
    }
  }
}
