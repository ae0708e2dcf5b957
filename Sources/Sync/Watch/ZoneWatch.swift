import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService

/// One open watch of a zone: reads its revisions and sends them in the order of the commits. It holds one page at most; while
/// its caller takes nothing it reads nothing, and nobody waits for it.
struct ZoneWatch: Sendable {
  static let pageRevisions = 16

  let repository: any SyncRepository
  let hub: WatchHub

  /// Runs until the task is cancelled, the service stops, `send` throws, or revisions are gone that were not told.
  func run(
    zone: String, resumeToken: String, user: String, send: (WatchZoneChangesResponse) async throws -> Void
  ) async throws {
    // Before the first look, so that no commit falls between.
    let bell = try hub.add(user: user)
    defer { hub.remove(bell, user: user) }
    var position = try repository.position(resumeToken, zone: zone, user: user, startsNow: true)
    try await send(response(.started(.init()), position, user))
    while true {
      let page = try repository.revisions(after: position, zone: zone, user: user, countMax: Self.pageRevisions)
      for revision in page.revisions {
        position.revision = revision.revision
        try await send(response(.revision(revision), position, user))
      }
      // What is committed after that look rings the bell, which remembers it.
      if !page.more { try await bell.wait() }
    }
  }

  private func response(
    _ event: WatchZoneChangesResponse.Event, _ position: ZonePosition, _ user: String
  ) -> WatchZoneChangesResponse {
    .with {
      $0.resumeToken = position.text(user: user)
      $0.event = event
    }
  }
}
