public import CampanileAPI
public import CampanileRPC

extension NotificationsService {
  public func markNotificationsRead(
    _ request: MarkNotificationsReadRequest, context: CallContext
  ) async throws -> MarkNotificationsReadResponse {
    let user = try context.requireUser()
    try RequestChecks.ids(request.notificationIds, limits)
    let (changed, counts) = try await changing(user) {
      try await repository.mark(request.notificationIds, isRead: true, user: user)
    }
    var response = MarkNotificationsReadResponse()
    response.changedCount = Int32(clamping: changed)
    response.unreadCounts = counts
    return response
  }

  public func markNotificationsUnread(
    _ request: MarkNotificationsUnreadRequest, context: CallContext
  ) async throws -> MarkNotificationsUnreadResponse {
    let user = try context.requireUser()
    try RequestChecks.ids(request.notificationIds, limits)
    let (changed, counts) = try await changing(user) {
      try await repository.mark(request.notificationIds, isRead: false, user: user)
    }
    var response = MarkNotificationsUnreadResponse()
    response.changedCount = Int32(clamping: changed)
    response.unreadCounts = counts
    return response
  }

  public func deleteNotifications(
    _ request: DeleteNotificationsRequest, context: CallContext
  ) async throws -> DeleteNotificationsResponse {
    let user = try context.requireUser()
    try RequestChecks.ids(request.notificationIds, limits)
    let (deleted, counts) = try await changing(user) {
      try await repository.deleteNotifications(request.notificationIds, user: user)
    }
    var response = DeleteNotificationsResponse()
    response.deletedCount = Int32(clamping: deleted)
    response.unreadCounts = counts
    return response
  }

  public func getUnreadCounts(
    _ request: GetUnreadCountsRequest, context: CallContext
  ) async throws -> GetUnreadCountsResponse {
    var response = GetUnreadCountsResponse()
    response.unreadCounts = try repository.unreadCounts(user: try context.requireUser())
    return response
  }

  public func watchNotifications(
    _ request: WatchNotificationsRequest, context: CallContext, responses: ResponseSink<WatchNotificationsResponse>
  ) async throws {
    let user = try context.requireUser()
    try await watch.run(request, user: user) { try await responses.send($0) }
  }
}
