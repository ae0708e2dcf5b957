public import CampanileAPI
import CampanileCodec
public import CampanileRPC
import CampanileService

extension NotificationsService {
  public func markNotificationsRead(
    _ request: MarkNotificationsReadRequest, context: CallContext
  ) async throws -> MarkNotificationsReadResponse {
    let user = try context.requireUser()
    try RequestChecks.ids(request.notificationIds, limits)
    let (changed, counts) = try await repository.mark(request.notificationIds, isRead: true, user: user)
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
    let (changed, counts) = try await repository.mark(request.notificationIds, isRead: false, user: user)
    var response = MarkNotificationsUnreadResponse()
    response.changedCount = Int32(clamping: changed)
    response.unreadCounts = counts
    return response
  }

  public func markAllNotificationsRead(
    _ request: MarkAllNotificationsReadRequest, context: CallContext
  ) async throws -> MarkAllNotificationsReadResponse {
    let user = try context.requireUser()
    let (changed, counts) = try await repository.markAllRead(
      bucketID: request.bucketId.isEmpty ? nil : request.bucketId, user: user)
    var response = MarkAllNotificationsReadResponse()
    response.changedCount = Int32(clamping: changed)
    response.unreadCounts = counts
    return response
  }

  public func deleteNotifications(
    _ request: DeleteNotificationsRequest, context: CallContext
  ) async throws -> DeleteNotificationsResponse {
    let user = try context.requireUser()
    try RequestChecks.ids(request.notificationIds, limits)
    let (deleted, counts) = try await repository.deleteNotifications(request.notificationIds, user: user)
    var response = DeleteNotificationsResponse()
    response.deletedCount = Int32(clamping: deleted)
    response.unreadCounts = counts
    return response
  }

  public func undeleteNotifications(
    _ request: UndeleteNotificationsRequest, context: CallContext
  ) async throws -> UndeleteNotificationsResponse {
    let user = try context.requireUser()
    try RequestChecks.ids(request.notificationIds, limits)
    let (restored, counts) = try await repository.undeleteNotifications(request.notificationIds, user: user)
    var response = UndeleteNotificationsResponse()
    response.restoredCount = Int32(clamping: restored)
    response.unreadCounts = counts
    return response
  }

  public func listDeletedNotifications(
    _ request: ListDeletedNotificationsRequest, context: CallContext
  ) async throws -> ListDeletedNotificationsResponse {
    let query = try PositionQuery(
      user: try context.requireUser(), pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["deleted-notifications"], parts: 2, limits: limits)
    var response = ListDeletedNotificationsResponse()
    (response.notifications, response.nextPageToken) = query.page(try repository.deletedNotifications(query)) {
      [String($0.deleteTime?.millisecondsSince1970 ?? 0), $0.id]
    }
    return response
  }

  public func snoozeNotification(
    _ request: SnoozeNotificationRequest, context: CallContext
  ) async throws -> SnoozeNotificationResponse {
    let user = try context.requireUser()
    var violations = Violations()
    RequestChecks.minutes(request.minutes, from: 0, &violations)
    try violations.check()
    var response = SnoozeNotificationResponse()
    response.notification = try await repository.setAside(
      request.notificationId, minutes: Int64(request.minutes), state: .snoozed, user: user)
    return response
  }

  public func postponeNotification(
    _ request: PostponeNotificationRequest, context: CallContext
  ) async throws -> PostponeNotificationResponse {
    let user = try context.requireUser()
    var violations = Violations()
    RequestChecks.minutes(request.minutes, from: 1, &violations)
    try violations.check()
    var response = PostponeNotificationResponse()
    response.notification = try await repository.setAside(
      request.notificationId, minutes: Int64(request.minutes), state: .postponed, user: user)
    return response
  }

  public func listScheduledNotifications(
    _ request: ListScheduledNotificationsRequest, context: CallContext
  ) async throws -> ListScheduledNotificationsResponse {
    let query = try PositionQuery(
      user: try context.requireUser(), pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["scheduled-notifications"], parts: 1, limits: limits)
    var response = ListScheduledNotificationsResponse()
    (response.notifications, response.nextPageToken) = query.page(try repository.scheduledNotifications(query)) {
      [$0.id]
    }
    return response
  }

  public func cancelScheduledNotification(
    _ request: CancelScheduledNotificationRequest, context: CallContext
  ) async throws -> CancelScheduledNotificationResponse {
    try await repository.cancelScheduled(request.notificationId, user: try context.requireUser())
    return CancelScheduledNotificationResponse()
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
    try await watch.run(request, user: user) { try await responses.send(next: $0) }
  }
}
