import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// A query for one page of search results.
struct SearchPageQuery: Sendable, Hashable {
  var user: String
  var query: SearchQuery
  /// Nil for all buckets.
  var bucketID: String?
  /// The time range of creation: inclusive start, exclusive end.
  var startMs: Int64?
  var endMs: Int64?
  var pageSize: Int
  /// Only documents below this number; nil for the first page.
  var before: Int64?
  private var scope: [String]

  init(_ request: SearchNotificationsRequest, user: String, limits: NotificationsLimits) throws(RPCError) {
    var violations = Violations()
    self.user = user
    request.validate(into: &violations)
    try violations.check()
    let query = SearchQuery(request.query, field: "query", &violations)
    bucketID = request.bucketId.isEmpty ? nil : request.bucketId
    pageSize = Paging.size(request.pageSize, limits, &violations)
    startMs = TimeRules.milliseconds(request.startTime, "startTime", &violations)
    endMs = TimeRules.milliseconds(request.endTime, "endTime", &violations)
    if violations.isEmpty, let startMs, let endMs, startMs >= endMs {
      violations.add("endTime", "must be after startTime", .timeRangeEmpty)
    }
    scope = [
      "search", user, request.query, request.bucketId, startMs.map(String.init) ?? "", endMs.map(String.init) ?? "",
    ]
    let position = Paging.position(request.pageToken, parts: 1, scope: scope, &violations)
    before = position.flatMap { Int64($0[0]) }
    try violations.check()
    // A missing query has already caused a violation.
    guard let query else { throw .invalidField("query", "is not a query", .required) }
    self.query = query
  }

  func nextPageToken(after document: Int64) -> String { Paging.token([String(document)], scope: scope) }
}

/// One page of search results.
struct SearchPage: Sendable, Hashable {
  var notifications: [Notification]
  /// The last document of the page; nil on the last page.
  var last: Int64?
}
