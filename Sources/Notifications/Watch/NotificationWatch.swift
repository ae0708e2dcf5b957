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
  ///
  /// `send` asks for the next response when it can be sent, and answers false when there was none.
  func run(
    _ request: WatchNotificationsRequest, user: String,
    send: (() throws -> WatchNotificationsResponse?) async throws -> Bool
  ) async throws {
    let bucketID = request.bucketId.isEmpty ? nil : request.bucketId
    // Before the first look into the log, so that no commit falls between.
    let bell = try hub.add(user: user)
    defer { hub.remove(bell, user: user) }
    let position = try repository.watchStart(resumeToken: request.resumeToken, bucketID: bucketID, user: user)
    let page = WatchPage(position, user: user, bucketID: bucketID)
    _ = try await send(page.started)
    while true {
      try page.fill(from: repository, rowsMax: max(1, pageRows))
      if page.isEmpty {
        try await bell.wait()
      } else {
        while try await send(page.next) {}
        if page.isOver { return }
      }
    }
  }
}

/// Where a watch stands, and the changes that it has read but not sent.
///
/// What it makes is made while it is sent: a response is large, and a watch that waits must not hold one.
private final class WatchPage {
  private let user: String
  private let bucketID: String?
  private var position: ResumeToken
  private var changes: ArraySlice<Change> = []
  /// Whether the one watched bucket is deleted.
  private(set) var isOver = false

  init(_ position: ResumeToken, user: String, bucketID: String?) {
    self.position = position
    self.user = user
    self.bucketID = bucketID
  }

  var isEmpty: Bool { changes.isEmpty }

  func fill(from repository: any NotificationsRepository, rowsMax: Int) throws {
    changes = try repository.changes(after: position, user: user, rowsMax: rowsMax)[...]
  }

  func started() -> WatchNotificationsResponse? {
    .with {
      $0.resumeToken = position.text(user: user)
      $0.event = .started(.init())
    }
  }

  /// The response for the next change that concerns the watch; nil after the last one.
  func next() throws(RPCError) -> WatchNotificationsResponse? {
    while !isOver, let change = changes.popFirst() {
      position.sequence = change.sequence
      guard let event = try event(of: change) else { continue }
      isOver = bucketID != nil && change.kind == .bucketDeleted
      return .with {
        $0.resumeToken = position.text(user: user)
        $0.eventTime = ProtoTimestamp(millisecondsSince1970: change.timeMs)
        $0.event = event
        $0.alert = change.isAlert
      }
    }
    // An empty slice would go on holding all that it was cut from.
    changes = []
    return nil
  }

  private func event(of change: Change) throws(RPCError) -> WatchNotificationsResponse.Event? {
    do throws(ProtoJSONError) {
      return try change.event(watching: bucketID)
    } catch {
      throw RPCError(.dataLoss, "a change in the log cannot be read", reason: Reason.recordDamaged.rawValue)
    }
  }
}
