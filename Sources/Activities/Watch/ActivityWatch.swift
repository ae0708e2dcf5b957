import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService

/// One open watch: reads its user's changes from the log and sends them in the order of the commits.
///
/// It holds one page of changes at most. While its caller takes nothing it reads nothing, and neither writers nor other
/// watches wait for it; should the log be cut behind it meanwhile, it ends with `TOKEN_TOO_OLD`.
struct ActivityWatch: Sendable {
  let repository: any ActivitiesRepository
  let hub: WatchHub
  let pageRows: Int

  /// Runs until the task is cancelled, the service stops, `send` throws, or the one watched activity ends.
  func run(
    _ request: WatchActivitiesRequest, user: String, send: (WatchActivitiesResponse) async throws -> Void
  ) async throws {
    let activityID = request.activityId.isEmpty ? nil : request.activityId
    // Before the first look into the log, so that no commit falls between.
    let bell = try hub.add(user: user)
    defer { hub.remove(bell, user: user) }
    var position = try repository.watchStart(resumeToken: request.resumeToken, activityID: activityID, user: user)
    var started = WatchActivitiesResponse()
    started.resumeToken = position.text(user: user)
    started.event = .started(.init())
    try await send(started)
    while true {
      let changes = try repository.changes(after: position, user: user, rowsMax: max(1, pageRows))
      for change in changes {
        position.sequence = change.sequence
        guard activityID == nil || activityID == change.activityID, let event = change.event else { continue }
        var response = WatchActivitiesResponse()
        response.resumeToken = position.text(user: user)
        response.eventTime = ProtoTimestamp(millisecondsSince1970: change.timeMs)
        response.event = event
        try await send(response)
        if activityID != nil, change.kind == .ended { return }
      }
      if changes.isEmpty { try await bell.wait() }
    }
  }
}

extension Change {
  /// Nil for an activity that is gone, or that a later change of the same page shows.
  var event: WatchActivitiesResponse.Event? {
    guard let activity else { return nil }
    // One that has ended since says so with the change that ended it, which follows.
    switch kind {
    case .started: return .activityStarted(activity.message)
    case .updated: return activity.isLive ? .activityUpdated(activity.message) : nil
    case .ended: return .activityEnded(activity.message)
    }
  }
}
