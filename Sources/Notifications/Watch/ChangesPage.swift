import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// A query for the changes of a user after a token.
struct ChangesQuery: Sendable, Hashable {
  var user: String
  var resumeToken: String
  /// Nil for all buckets.
  var bucketID: String?
  var pageSize: Int

  init(_ request: ListNotificationChangesRequest, user: String, limits: NotificationsLimits) throws(RPCError) {
    try request.checkConstraints()
    self.user = user
    resumeToken = request.resumeToken
    bucketID = request.bucketId.isEmpty ? nil : request.bucketId
    pageSize = Paging.size(request.pageSize, limits)
  }
}

/// One page of changes, which ends at a maximum number of rows of the log or bytes.
struct ChangesPage: Sendable {
  private let query: ChangesQuery
  private var rowCount = 0
  private var changes: PageRows<NotificationChange>
  private var hasMore = false
  /// The position after the last row that was read.
  private var position: ResumeToken

  /// - Parameter start: The position before the page.
  init(_ start: ResumeToken, _ query: ChangesQuery) {
    self.query = query
    position = start
    changes = PageRows(countMax: query.pageSize)
  }

  /// Adds the next row of the log. Returns false if the page is full or the watched bucket has been deleted.
  mutating func add(_ row: LoggedChange) -> Bool {
    guard rowCount < query.pageSize else {
      hasMore = true
      return false
    }
    if let change = row.message(watching: query.bucketID) {
      guard changes.add(change, sizeBytes: change.sizeBytes) else {
        hasMore = true
        return false
      }
    }
    rowCount += 1
    position.sequence = row.sequence
    // Nothing follows in a deleted bucket, as in a watch.
    return row.kind != .bucketDeleted || row.bucketID != query.bucketID
  }

  var response: ListNotificationChangesResponse {
    ListNotificationChangesResponse(
      changes: changes.items, resumeToken: position.text(user: query.user), hasMore: hasMore)
  }
}

extension NotificationChange {
  /// The approximate size of its JSON in bytes.
  fileprivate var sizeBytes: Int {
    switch change {
    case .notificationCreated(let notification), .notificationUpdated(let notification): notification.sizeBytes
    // Name, description and icon are below this limit.
    case .bucketCreated, .bucketUpdated: 4_096
    case .notificationDeleted, .bucketDeleted, .notificationsMarkedRead, nil: 256
    }
  }
}
