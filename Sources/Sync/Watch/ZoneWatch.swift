import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// An open watch of a zone: reads its revisions and sends them in commit order.
///
/// It holds one page at most. While its caller receives nothing, it reads nothing, and no commit waits for it.
struct ZoneWatch: Sendable {
  static let pageRevisions = 16

  let repository: any SyncRepository
  let hub: WatchHub

  /// Runs until the task is cancelled, the service stops, `send` throws, or unsent revisions are no longer stored.
  func run(
    zone: String, resumeToken: String, user: String, send: (WatchZoneChangesResponse) async throws -> Void
  ) async throws {
    // Register before the first read, so that no commit is missed.
    let signal = try hub.add(user: user)
    defer { hub.remove(signal, user: user) }
    var position = try repository.position(resumeToken, zone: zone, user: user, startsNow: true)
    try await send(response(.started(.init()), position, user))
    while true {
      let page = try repository.revisions(after: position, zone: zone, user: user, countMax: Self.pageRevisions)
      for revision in page.revisions {
        position.revision = revision.revision
        try await send(response(.revision(revision), position, user))
      }
      // A revision committed after this read sets the signal, which remembers it.
      if !page.more { try await signal.wait() }
    }
  }

  private func response(
    _ event: WatchZoneChangesResponse.Event, _ position: ZonePosition, _ user: String
  ) -> WatchZoneChangesResponse {
    WatchZoneChangesResponse(resumeToken: position.text(user: user), event: event)
  }
}
