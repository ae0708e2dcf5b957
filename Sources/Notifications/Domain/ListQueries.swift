import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// A query for one page of buckets, ordered by name and id.
struct BucketQuery: Sendable, Hashable {
  var isOfDeleted: Bool
  var page: PositionQuery
  var after: (name: String, id: String) { (page.position.first ?? "", page.position.last ?? "") }

  init(_ request: ListBucketsRequest, user: String, limits: NotificationsLimits) throws(RPCError) {
    isOfDeleted = false
    page = try PositionQuery(
      user: user, pageSize: request.pageSize, pageToken: request.pageToken, scope: ["buckets"], parts: 2,
      limits: limits)
  }

  init(_ request: ListDeletedBucketsRequest, user: String, limits: NotificationsLimits) throws(RPCError) {
    isOfDeleted = true
    page = try PositionQuery(
      user: user, pageSize: request.pageSize, pageToken: request.pageToken, scope: ["deleted-buckets"], parts: 2,
      limits: limits)
  }
}

/// A query for one page of notifications, newest first. Ids ascend with time, so two ids bound the time range.
struct NotificationQuery: Sendable, Hashable {
  var user: String
  /// Nil for all buckets.
  var bucketID: String?
  var isUnreadOnly: Bool
  /// The lowest id, inclusive.
  var lowerID: String
  /// The highest id, exclusive.
  var upperID: String
  var pageSize: Int
  private var scope: [String]

  init(_ request: ListNotificationsRequest, user: String, limits: NotificationsLimits) throws(RPCError) {
    var violations = Violations()
    self.user = user
    bucketID = request.bucketId.isEmpty ? nil : request.bucketId
    isUnreadOnly = request.unreadOnly
    pageSize = Paging.size(request.pageSize, limits, &violations)
    let startMs = TimeRules.milliseconds(request.startTime, "startTime", &violations)
    let endMs = TimeRules.milliseconds(request.endTime, "endTime", &violations)
    if violations.isEmpty, let startMs, let endMs, startMs >= endMs {
      violations.add("endTime", "must be after startTime", .timeRangeEmpty)
    }
    let prefix = SortableID.notificationPrefix
    lowerID = startMs.map { SortableID.lowerBound(prefix: prefix, timeMs: $0) } ?? "n_"
    // Greater than every id, because ids have only lower-case letters and digits after the prefix.
    upperID = endMs.map { SortableID.lowerBound(prefix: prefix, timeMs: $0) } ?? "n_~"
    scope = ["notifications", user, request.bucketId, isUnreadOnly ? "unread" : "all", lowerID, upperID]
    if let position = Paging.position(request.pageToken, parts: 1, scope: scope, &violations) {
      upperID = min(upperID, position[0])
    }
    try violations.check()
  }

  func nextPageToken(after last: Notification) -> String { Paging.token([last.id], scope: scope) }
}
