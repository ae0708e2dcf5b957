public import CampanileAPI
import CampanileCodec
public import CampanileRPC
import CampanileService

extension NotificationsService {
  public func markNotificationsRead(
    _ request: MarkNotificationsReadRequest, context: CallContext
  ) async throws -> MarkNotificationsReadResponse {
    let user = try context.requireUser()
    try request.checkConstraints()
    let change = try await repository.mark(request.notificationIds, isRead: true, user: user)
    return MarkNotificationsReadResponse(
      changedCount: Int32(clamping: change.count), unreadCounts: change.counts, missingIds: change.missingIDs)
  }

  public func markNotificationsUnread(
    _ request: MarkNotificationsUnreadRequest, context: CallContext
  ) async throws -> MarkNotificationsUnreadResponse {
    let user = try context.requireUser()
    try request.checkConstraints()
    let change = try await repository.mark(request.notificationIds, isRead: false, user: user)
    return MarkNotificationsUnreadResponse(
      changedCount: Int32(clamping: change.count), unreadCounts: change.counts, missingIds: change.missingIDs)
  }

  public func markAllNotificationsRead(
    _ request: MarkAllNotificationsReadRequest, context: CallContext
  ) async throws -> MarkAllNotificationsReadResponse {
    let user = try context.requireUser()
    try request.checkConstraints()
    let (changed, counts) = try await repository.markAllRead(
      bucketID: request.bucketId.isEmpty ? nil : request.bucketId, through: request.throughNotificationId, user: user)
    return MarkAllNotificationsReadResponse(changedCount: Int32(clamping: changed), unreadCounts: counts)
  }

  public func deleteNotification(
    _ request: DeleteNotificationRequest, context: CallContext
  ) async throws -> DeleteNotificationResponse {
    DeleteNotificationResponse(
      unreadCounts: try await repository.deleteNotification(
        request.notificationId, etag: request.etag, user: try context.requireUser()))
  }

  public func batchDeleteNotifications(
    _ request: BatchDeleteNotificationsRequest, context: CallContext
  ) async throws -> BatchDeleteNotificationsResponse {
    let user = try context.requireUser()
    try request.checkConstraints()
    let change = try await repository.deleteNotifications(request.notificationIds, user: user)
    return BatchDeleteNotificationsResponse(
      deletedCount: Int32(clamping: change.count), unreadCounts: change.counts, missingIds: change.missingIDs)
  }

  public func undeleteNotifications(
    _ request: UndeleteNotificationsRequest, context: CallContext
  ) async throws -> UndeleteNotificationsResponse {
    let user = try context.requireUser()
    try request.checkConstraints()
    let change = try await repository.undeleteNotifications(request.notificationIds, user: user)
    return UndeleteNotificationsResponse(
      restoredCount: Int32(clamping: change.count), unreadCounts: change.counts, missingIds: change.missingIDs)
  }

  public func listDeletedNotifications(
    _ request: ListDeletedNotificationsRequest, context: CallContext
  ) async throws -> ListDeletedNotificationsResponse {
    let query = try PositionQuery(
      user: try context.requireUser(), pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["deleted-notifications"], parts: 2, limits: limits)
    let (notifications, nextPageToken) = query.page(try await repository.deletedNotifications(query)) {
      [String($0.deleteTime?.millisecondsSince1970 ?? 0), $0.id]
    }
    return ListDeletedNotificationsResponse(notifications: notifications, nextPageToken: nextPageToken)
  }

  public func snoozeNotification(
    _ request: SnoozeNotificationRequest, context: CallContext
  ) async throws -> SnoozeNotificationResponse {
    let user = try context.requireUser()
    try Violations.check {
      NotificationRules.atMostAYearAhead(request.releaseTime, "releaseTime", nowMs: repository.clockMs(), &$0)
    }
    return SnoozeNotificationResponse(
      notification: try await repository.setAside(
        request.notificationId, until: request.releaseTime, state: .snoozed, user: user))
  }

  public func postponeNotification(
    _ request: PostponeNotificationRequest, context: CallContext
  ) async throws -> PostponeNotificationResponse {
    let user = try context.requireUser()
    try Violations.check {
      request.validate(into: &$0)
      NotificationRules.atMostAYearAhead(request.releaseTime, "releaseTime", nowMs: repository.clockMs(), &$0)
    }
    return PostponeNotificationResponse(
      notification: try await repository.setAside(
        request.notificationId, until: request.releaseTime, state: .postponed, user: user))
  }

  public func listPostponedNotifications(
    _ request: ListPostponedNotificationsRequest, context: CallContext
  ) async throws -> ListPostponedNotificationsResponse {
    let query = try PositionQuery(
      user: try context.requireUser(), pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["postponed-notifications"], parts: 1, limits: limits)
    let (notifications, nextPageToken) = query.page(try await repository.postponedNotifications(query)) { [$0.id] }
    return ListPostponedNotificationsResponse(notifications: notifications, nextPageToken: nextPageToken)
  }

  public func cancelPostponement(
    _ request: CancelPostponementRequest, context: CallContext
  ) async throws -> CancelPostponementResponse {
    CancelPostponementResponse(
      notification: try await repository.cancelPostponement(
        request.notificationId, etag: request.etag, user: try context.requireUser()))
  }

  public func listScheduledNotifications(
    _ request: ListScheduledNotificationsRequest, context: CallContext
  ) async throws -> ListScheduledNotificationsResponse {
    let query = try PositionQuery(
      user: try context.requireUser(), pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["scheduled-notifications"], parts: 1, limits: limits)
    let (notifications, nextPageToken) = query.page(try await repository.scheduledNotifications(query)) {
      [$0.id]
    }
    return ListScheduledNotificationsResponse(notifications: notifications, nextPageToken: nextPageToken)
  }

  public func cancelScheduledNotification(
    _ request: CancelScheduledNotificationRequest, context: CallContext
  ) async throws -> CancelScheduledNotificationResponse {
    try await repository.cancelScheduled(
      request.notificationId, etag: request.etag, user: try context.requireUser())
    return CancelScheduledNotificationResponse()
  }

  public func getUnreadCounts(
    _ request: GetUnreadCountsRequest, context: CallContext
  ) async throws -> GetUnreadCountsResponse {
    GetUnreadCountsResponse(unreadCounts: try await repository.unreadCounts(user: try context.requireUser()))
  }

  public func listNotificationChanges(
    _ request: ListNotificationChangesRequest, context: CallContext
  ) async throws -> ListNotificationChangesResponse {
    let query = try ChangesQuery(request, user: try context.requireUser(), limits: limits)
    return try await repository.changes(query).response
  }

  public func watchNotifications(
    _ request: WatchNotificationsRequest, context: CallContext, responses: ResponseSink<WatchNotificationsResponse>
  ) async throws {
    let user = try context.requireUser()
    try await watch.run(request, user: user) { try await responses.send(next: $0) }
  }
}
