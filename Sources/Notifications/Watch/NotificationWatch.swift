import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// One open watch: reads its user's changes from the log and sends them in commit order.
///
/// It holds at most one page of changes. While its caller does not receive, it does not read, and neither writers nor
/// other watches wait for it. If the log is truncated beyond its position in the meantime, it ends with
/// `TOKEN_TOO_OLD`.
struct NotificationWatch: Sendable {
  let repository: any NotificationsRepository
  let hub: WatchHub
  let pageRows: Int

  /// Runs until the task is cancelled, the service stops, `send` throws, or the watched bucket is deleted.
  ///
  /// - Parameter send: Calls its argument for the next response once it can be sent. Returns false if there was none.
  func run(
    _ request: WatchNotificationsRequest, user: String,
    send: (() throws -> WatchNotificationsResponse?) async throws -> Bool
  ) async throws {
    let bucketID = request.bucketId.isEmpty ? nil : request.bucketId
    // Subscribe before reading the log, so that no commit is missed.
    let signal = try hub.add(user: user)
    defer { hub.remove(signal, user: user) }
    let position = try await repository.watchStart(resumeToken: request.resumeToken, bucketID: bucketID, user: user)
    let page = WatchPage(position, user: user, bucketID: bucketID)
    _ = try await send(page.started)
    while true {
      try await page.fill(from: repository, rowsMax: max(1, pageRows))
      if page.isEmpty {
        try await signal.wait()
      } else {
        while try await send(page.next) {}
        if page.isOver { return }
      }
    }
  }
}

/// The position of a watch, and the changes that it has read but not sent.
///
/// Responses are built when they are sent: they are large, and a waiting watch must not hold one.
private final class WatchPage {
  private let user: String
  private let bucketID: String?
  private var position: ResumeToken
  private var changes: ArraySlice<LoggedChange> = []
  /// Whether the watched bucket has been deleted.
  private(set) var isOver = false

  init(_ position: ResumeToken, user: String, bucketID: String?) {
    self.position = position
    self.user = user
    self.bucketID = bucketID
  }

  var isEmpty: Bool { changes.isEmpty }

  func fill(from repository: any NotificationsRepository, rowsMax: Int) async throws {
    changes = try await repository.changes(after: position, user: user, rowsMax: rowsMax)[...]
  }

  func started() -> WatchNotificationsResponse? {
    WatchNotificationsResponse(resumeToken: position.text(user: user), event: .started(.init()))
  }

  /// Returns the response for the next change that concerns the watch, or nil after the last one.
  func next() -> WatchNotificationsResponse? {
    while !isOver, let change = changes.popFirst() {
      position.sequence = change.sequence
      guard let message = change.message(watching: bucketID) else { continue }
      isOver = bucketID != nil && change.kind == .bucketDeleted
      return WatchNotificationsResponse(resumeToken: position.text(user: user), event: .change(message))
    }
    // An empty slice would retain its whole base array.
    changes = []
    return nil
  }
}
