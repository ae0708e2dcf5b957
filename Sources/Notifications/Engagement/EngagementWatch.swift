import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService

/// One open watch of the reports about a bucket's notifications. It holds at most one page of them.
struct EngagementWatch: Sendable {
  let repository: SQLiteNotificationsRepository
  let hub: WatchHub
  let pageRows: Int

  /// Runs until the task is cancelled, the service stops, `send` throws, or the user may no longer publish in the
  /// bucket.
  func run(
    _ request: WatchEngagementChangesRequest, user: String,
    send: (WatchEngagementChangesResponse) async throws -> Void
  ) async throws {
    // Subscribe before reading the log, so that no commit is missed.
    let signal = try hub.add(user: user)
    defer { hub.remove(signal, user: user) }
    var position = try await repository.engagementStart(
      resumeToken: request.resumeToken, bucketID: request.bucketId, user: user)
    let scope = EngagementQuery.scope(request.bucketId, user: user)
    try await send(WatchEngagementChangesResponse(resumeToken: position.text(user: scope), event: .started(.init())))
    while true {
      let changes = try await repository.engagementChanges(
        after: position.sequence, bucketID: request.bucketId, user: user, rowsMax: max(1, pageRows))
      if changes.isEmpty { try await signal.wait() }
      for change in changes {
        position.sequence = change.sequence
        try await send(
          WatchEngagementChangesResponse(resumeToken: position.text(user: scope), event: .change(change.change)))
      }
    }
  }
}
