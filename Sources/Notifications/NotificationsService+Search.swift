public import CampanileAPI
public import CampanileRPC
import CampanileService

extension NotificationsService {
  public func searchNotifications(
    _ request: SearchNotificationsRequest, context: CallContext
  ) async throws -> SearchNotificationsResponse {
    let query = try SearchPageQuery(request, user: try context.requireUser(), limits: limits)
    let page = try await repository.search(query)
    var response = SearchNotificationsResponse(notifications: page.notifications)
    if let last = page.last { response.nextPageToken = query.nextPageToken(after: last) }
    return response
  }
}
