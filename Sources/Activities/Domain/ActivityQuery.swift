import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// A page of a user's activities, newest first.
struct ActivityQuery: Sendable, Hashable {
  var user: String
  /// Nil for all apps.
  var app: String?
  var includesEnded: Bool
  var page: PositionQuery
  var pageBytesMax: Int

  init(_ request: ListActivitiesRequest, user: String, limits: ActivitiesLimits) throws(RPCError) {
    self.user = user
    app = request.app.isEmpty ? nil : request.app
    includesEnded = request.includeEnded
    pageBytesMax = limits.pageBytesMax
    page = try PositionQuery(
      user: user, pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["activities", request.app, request.includeEnded ? "all" : "live"], parts: 2, limits: limits)
  }

  /// The position after which the page continues. The first page begins with the newest activity.
  var before: (createdMs: Int64, id: String) {
    guard page.position.count == 2, let ms = Int64(page.position[0]) else { return (.max, "") }
    return (ms, page.position[1])
  }

  /// Cuts the rows to one page, which also ends once its states exceed `pageBytesMax`.
  func cut(_ found: [StoredActivity]) -> (page: [StoredActivity], nextPageToken: String) {
    var bytes = 0
    var count = 0
    for activity in found.prefix(page.pageSize) {
      bytes += activity.pageBytes
      // At least one, so that the list advances.
      if count > 0, bytes > pageBytesMax { break }
      count += 1
    }
    var cutting = page
    cutting.pageSize = count
    return cutting.page(found) { [String($0.createdMs), $0.id] }
  }
}
