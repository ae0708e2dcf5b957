import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService

/// Reads pages of the change log, for clients that do not hold a watch open.
struct ActivityChangePage: Sendable {
  let repository: any ActivitiesRepository
  let limits: ActivitiesLimits

  /// Returns the changes after the request's token. Without a token there are none, and the token is the present.
  func read(_ request: ListActivityChangesRequest, user: String) async throws -> ListActivityChangesResponse {
    let activityID = request.activityId.isEmpty ? nil : request.activityId
    var position = try await repository.watchStart(resumeToken: request.resumeToken, activityID: activityID, user: user)
    guard !request.resumeToken.isEmpty else {
      return ListActivityChangesResponse(resumeToken: position.text(user: user))
    }
    let pageSize = Paging.size(request.pageSize, limits)
    // One more than the page, which shows whether there are more.
    let changes = try await repository.changes(after: position, user: user, rowsMax: pageSize + 1)
    var page = PageRows<ActivityChange>(countMax: pageSize, sizeBytesMax: limits.pageBytesMax)
    for logged in changes.prefix(pageSize) {
      if activityID == nil || activityID == logged.activityID, let change = logged.message {
        guard page.add(change, sizeBytes: logged.activity?.pageBytes ?? 0) else { break }
      }
      position.sequence = logged.sequence
    }
    return ListActivityChangesResponse(
      changes: page.items, resumeToken: position.text(user: user),
      hasMore: page.hasMore || changes.count > pageSize)
  }
}
