import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// An open watch of a zone: reads its changes and sends them in commit order.
///
/// It holds one page at most. While its caller receives nothing, it reads nothing, and no commit waits for it.
struct ZoneWatch: Sendable {
  static let pageChanges = 16

  let repository: any SyncRepository
  let hub: WatchHub
  var filter = ChangeFilter()

  /// Runs until the task is cancelled, the service stops, `send` throws, or unsent changes are no longer stored.
  func run(
    zone: String, start: ChangesStart, user: String, send: (WatchZoneChangesResponse) async throws -> Void
  ) async throws {
    // Register before the first read, so that no commit is missed.
    let signal = try hub.add(user: user)
    defer { hub.remove(signal, user: user) }
    var position = try await repository.position(start, zone: zone, user: user)
    try await send(response(.started(.init()), position, user))
    while true {
      let page = try await repository.changes(
        after: position, zone: zone, user: user, countMax: Self.pageChanges, filter: filter)
      for change in page.changes {
        position.revision = change.revision
        try await send(response(.change(change), position, user))
      }
      position.revision = page.revision
      // A change committed after this read sets the signal, which remembers it.
      if !page.hasMore { try await signal.wait() }
    }
  }

  private func response(
    _ event: WatchZoneChangesResponse.Event, _ position: ZonePosition, _ user: String
  ) -> WatchZoneChangesResponse {
    WatchZoneChangesResponse(resumeToken: position.text(user: user), event: event)
  }
}
