import CampanileAPI
import CampanileCodec
import CampanileRPC

/// Page sizes and page tokens (AIP-158).
enum Paging {
  /// The size to use; a violation when it is out of bounds.
  static func size(_ requested: Int32, _ limits: NotificationsLimits, _ violations: inout Violations) -> Int {
    let size = Int(requested)
    if size == 0 { return min(limits.pageSizeDefault, limits.pageSizeMax) }
    guard (1...limits.pageSizeMax).contains(size) else {
      violations.add("pageSize", "must be 1 to \(limits.pageSizeMax), or 0 for \(limits.pageSizeDefault)", .outOfRange)
      return limits.pageSizeDefault
    }
    return size
  }

  static func token(_ position: [String], scope: [String]) -> String {
    OpaqueToken.encode(Array(position.joined(separator: "\u{0}").utf8), scope: scope)
  }

  /// The position that a token carries; nil for the first page. A token of another query or user is a violation.
  static func position(
    _ token: String, parts: Int, scope: [String], _ violations: inout Violations
  ) -> [String]? {
    if token.isEmpty { return nil }
    if let payload = OpaqueToken.decode(token, scope: scope), let text = String(validating: payload, as: UTF8.self) {
      let position = text.split(separator: "\u{0}", omittingEmptySubsequences: false).map(String.init)
      if position.count == parts { return position }
    }
    violations.add("pageToken", "is no token of this list", .pageTokenInvalid)
    return nil
  }
}

/// A page of a user's list that goes on after a position: the sort key of the last object of the page before.
struct PositionQuery: Sendable, Hashable {
  var user: String
  var pageSize: Int
  /// Empty for the first page.
  var position: [String]
  private var scope: [String]

  /// `scope` names the list and its filters: a token of another is refused. `parts` is the length of a position.
  init(
    user: String, pageSize: Int32, pageToken: String, scope: [String], parts: Int, limits: NotificationsLimits
  ) throws(RPCError) {
    var violations = Violations()
    self.user = user
    self.scope = scope + [user]
    self.pageSize = Paging.size(pageSize, limits, &violations)
    position = Paging.position(pageToken, parts: parts, scope: self.scope, &violations) ?? []
    try violations.check()
  }

  /// Cuts what was read, one more than a page, to the page. The token is empty after the last page.
  func page<T>(_ found: [T], _ key: (T) -> [String]) -> (page: [T], nextPageToken: String) {
    guard found.count > pageSize, let last = found.prefix(pageSize).last else { return (found, "") }
    return (Array(found.prefix(pageSize)), Paging.token(key(last), scope: scope))
  }
}

/// A page of buckets: those after a name and id.
struct BucketQuery: Sendable, Hashable {
  var user: String
  var pageSize: Int
  var isOfDeleted: Bool
  var after: (name: String, id: String) { (position.first ?? "", position.last ?? "") }
  private var position: [String]

  init(_ request: ListBucketsRequest, user: String, limits: NotificationsLimits) throws(RPCError) {
    var violations = Violations()
    self.user = user
    isOfDeleted = request.onlyDeleted
    pageSize = Paging.size(request.pageSize, limits, &violations)
    position = []
    position = Paging.position(request.pageToken, parts: 2, scope: scope, &violations) ?? ["", ""]
    try violations.check()
  }

  /// The token of the page after `last`.
  func nextPageToken(after last: Bucket) -> String { Paging.token([last.name, last.id], scope: scope) }

  private var scope: [String] { [isOfDeleted ? "deleted-buckets" : "buckets", user] }
}

/// A page of notifications, newest first: ids between two bounds, since ids ascend with time.
struct NotificationQuery: Sendable, Hashable {
  var user: String
  /// Nil for all buckets.
  var bucketID: String?
  var isUnreadOnly: Bool
  /// Ids from here on.
  var lowerID: String
  /// Ids below this.
  var upperID: String
  var pageSize: Int
  private var scope: [String]

  init(_ request: ListNotificationsRequest, user: String, limits: NotificationsLimits) throws(RPCError) {
    var violations = Violations()
    self.user = user
    bucketID = request.bucketId.isEmpty ? nil : request.bucketId
    isUnreadOnly = request.unreadOnly
    pageSize = Paging.size(request.pageSize, limits, &violations)
    let startMs = Self.milliseconds(request.startTime, "startTime", &violations)
    let endMs = Self.milliseconds(request.endTime, "endTime", &violations)
    if violations.isEmpty, let startMs, let endMs, startMs >= endMs {
      violations.add("endTime", "must be after startTime", .timeRangeEmpty)
    }
    let prefix = SortableID.notificationPrefix
    lowerID = startMs.map { SortableID.lowerBound(prefix: prefix, timeMs: $0) } ?? "n_"
    // Above every id, which has only lower-case letters and digits behind the prefix.
    upperID = endMs.map { SortableID.lowerBound(prefix: prefix, timeMs: $0) } ?? "n_~"
    scope = ["notifications", user, request.bucketId, isUnreadOnly ? "unread" : "all", lowerID, upperID]
    if let position = Paging.position(request.pageToken, parts: 1, scope: scope, &violations) {
      upperID = min(upperID, position[0])
    }
    try violations.check()
  }

  func nextPageToken(after last: Notification) -> String { Paging.token([last.id], scope: scope) }

  /// The first whole millisecond at or after a time; creation times have no finer part.
  static func milliseconds(
    _ time: ProtoTimestamp?, _ field: String, _ violations: inout Violations
  ) -> Int64? {
    guard let time else { return nil }
    // The years 1 to 9999, the range of google.protobuf.Timestamp.
    guard (-62_135_596_800...253_402_300_799).contains(time.seconds), (0...999_999_999).contains(time.nanos) else {
      violations.add(field, "must be in the years 1 to 9999, with 0 to 999999999 nanos", .outOfRange)
      return nil
    }
    return time.seconds * 1_000 + (Int64(time.nanos) + 999_999) / 1_000_000
  }
}
