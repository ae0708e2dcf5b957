import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// A page of the live activities of a group, by user and id.
struct GroupQuery: Sendable, Hashable {
  /// Activities that one call changes.
  static let pageSizeMax: Int32 = 1_000

  var app: String
  var groupID: String
  var page: PositionQuery

  /// Creates a query. Throws INVALID_ARGUMENT for a page token of another group.
  init(
    app: String, groupID: String, pageSize: Int32, pageToken: String, limits: ActivitiesLimits
  ) throws(RPCError) {
    self.app = app
    self.groupID = groupID
    page = try PositionQuery(
      user: "", pageSize: pageSize == 0 ? Self.pageSizeMax : pageSize, pageToken: pageToken,
      scope: ["activity-group", app, groupID], parts: 2, limits: limits)
  }

  /// Returns the token of the page after the first `visited` activities of `found`; empty if none are left.
  func nextPageToken(_ found: [StoredActivity], visited: Int) -> String {
    var cutting = page
    cutting.pageSize = visited
    return cutting.page(found) { [$0.user, $0.id] }.nextPageToken
  }
}
