import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// An open watch, which reads its user's changes from the log and sends them in commit order.
///
/// A watch holds at most one page of changes. While its caller does not read, it reads nothing either, and blocks
/// neither writers nor other watches. If the log is compacted past its position, it ends with `TOKEN_TOO_OLD`.
struct ActivityWatch: Sendable {
  let repository: any ActivitiesRepository
  let hub: WatchHub
  let pageRows: Int

  /// Runs until the task is cancelled, the service stops, `send` throws, or the watched activity ends.
  func run(
    _ request: WatchActivitiesRequest, user: String, send: (WatchActivitiesResponse) async throws -> Void
  ) async throws {
    let activityID = request.activityId.isEmpty ? nil : request.activityId
    // Subscribe before the first read of the log, so that no commit is missed.
    let signal = try hub.add(user: user)
    defer { hub.remove(signal, user: user) }
    var position = try await repository.watchStart(resumeToken: request.resumeToken, activityID: activityID, user: user)
    let started = WatchActivitiesResponse(resumeToken: position.text(user: user), event: .started(.init()))
    try await send(started)
    while true {
      let changes = try await repository.changes(after: position, user: user, rowsMax: max(1, pageRows))
      for change in changes {
        position.sequence = change.sequence
        guard activityID == nil || activityID == change.activityID, let message = change.message else { continue }
        try await send(WatchActivitiesResponse(resumeToken: position.text(user: user), event: .change(message)))
        if activityID != nil, change.kind == .ended { return }
      }
      if changes.isEmpty { try await signal.wait() }
    }
  }
}

extension LoggedActivityChange {
  /// The change for the caller; nil if the activity was deleted or a later change of the same page shows it.
  var message: ActivityChange? {
    guard let activity else { return nil }
    let change: ActivityChange.Change
    switch kind {
    case .started: change = .activityStarted(activity.message)
    case .updated:
      // The end of an activity is reported by the change that ended it, which follows.
      guard activity.isLive else { return nil }
      change = .activityUpdated(activity.message)
    case .ended: change = .activityEnded(activity.message)
    }
    return ActivityChange(changeTime: ProtoTimestamp(millisecondsSince1970: timeMs), change: change)
  }
}
