import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService

/// One open watch: reads its user's changes from the log and sends them in the order of the commits.
///
/// It holds one page of changes at most. While its caller takes nothing it reads nothing, and neither writers nor other
/// watches wait for it; should the log be cut behind it meanwhile, it ends with `TOKEN_TOO_OLD`.
struct NotificationWatch: Sendable {
  let repository: any NotificationsRepository
  let hub: WatchHub
  let pageRows: Int

  /// Runs until the task is cancelled, the service stops, `send` throws, or the one watched bucket is deleted.
  func run(
    _ request: WatchNotificationsRequest, user: String,
    send: (WatchNotificationsResponse) async throws -> Void
  ) async throws {
    let bucketID = request.bucketId.isEmpty ? nil : request.bucketId
    // Before the first look into the log, so that no commit falls between.
    let bell = try hub.add(user: user)
    defer { hub.remove(bell, user: user) }
    var position = try repository.watchStart(resumeToken: request.resumeToken, bucketID: bucketID, user: user)
    var started = WatchNotificationsResponse()
    started.resumeToken = position.text(user: user)
    started.event = .started(.init())
    try await send(started)
    while true {
      let changes = try repository.changes(after: position, user: user, rowsMax: max(1, pageRows))
      for change in changes {
        position.sequence = change.sequence
        guard let event = try Self.event(of: change, watching: bucketID) else { continue }
        var response = WatchNotificationsResponse()
        response.resumeToken = position.text(user: user)
        response.eventTime = ProtoTimestamp(millisecondsSince1970: change.timeMs)
        response.event = event
        response.alert = change.isAlert
        try await send(response)
        if bucketID != nil, change.kind == .bucketDeleted { return }
      }
      if changes.isEmpty { try await bell.wait() }
    }
  }

  private static func event(
    of change: Change, watching bucketID: String?
  ) throws(RPCError) -> WatchNotificationsResponse.Event? {
    do throws(ProtoJSONError) {
      return try change.event(watching: bucketID)
    } catch {
      throw RPCError(.dataLoss, "a change in the log cannot be read", reason: Reason.recordDamaged.rawValue)
    }
  }
}
