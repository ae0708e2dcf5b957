public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
import CampanileService

extension NotificationsService {
  public func getAttachmentContent(
    _ request: GetAttachmentContentRequest, context: CallContext
  ) async throws -> GetAttachmentContentResponse {
    let user = try context.requireUser()
    let notification = try await repository.notification(request.notificationId, user: user)
    let attachment = notification.attachments.first { $0.contentId == request.contentId }
    guard let attachment, !request.contentId.isEmpty else {
      throw RPCError.contentNotFound(request.contentId, field: "contentId")
    }
    return GetAttachmentContentResponse(
      data: try await repository.content(request.contentId, of: notification.id, user: user),
      contentType: attachment.contentType)
  }

  public func getLongLook(_ request: GetLongLookRequest, context: CallContext) async throws -> GetLongLookResponse {
    let user = try context.requireUser()
    let notification = try await repository.notification(request.notificationId, user: user)
    let bucket = try await repository.bucket(notification.bucketId, user: user)
    return GetLongLookResponse(
      longLook: LongLookRules.longLook(notification, bucket: bucket, hasOwnLabels: request.withOwnLabels))
  }

  public func explainDelivery(
    _ request: ExplainDeliveryRequest, context: CallContext
  ) async throws -> ExplainDeliveryResponse {
    let query = try PositionQuery(
      user: try context.requireUser(), pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["delivery", request.notificationId], parts: 4, limits: limits)
    let (records, nextPageToken) = query.page(try await repository.deliveries(of: request.notificationId, query)) {
      DeliveryKey($0).parts
    }
    return ExplainDeliveryResponse(records: records, nextPageToken: nextPageToken)
  }

  public func getUnreadSummary(
    _ request: GetUnreadSummaryRequest, context: CallContext
  ) async throws -> GetUnreadSummaryResponse {
    GetUnreadSummaryResponse(summary: try await repository.unreadSummary(user: try context.requireUser()))
  }

  public func getUserSettings(
    _ request: GetUserSettingsRequest, context: CallContext
  ) async throws -> GetUserSettingsResponse {
    GetUserSettingsResponse(settings: try await repository.settings(user: try context.requireUser()))
  }

  public func updateUserSettings(
    _ request: UpdateUserSettingsRequest, context: CallContext
  ) async throws -> UpdateUserSettingsResponse {
    let user = try context.requireUser()
    let (change, fields) = try UpdateMask.change(
      request.settings, "settings", request.updateMask, Self.check(_:of:_:_:))
    return UpdateUserSettingsResponse(settings: try await repository.updateSettings(change, fields: fields, user: user))
  }

  private static func check(
    _ field: SettingsField, of settings: UserSettings, _ path: String, _ violations: inout Violations
  ) {
    switch field {
    case .timeZone:
      TimeZoneRules.check(settings.timeZone, "\(path).timeZone", &violations)
    case .quietHours:
      if let hours = settings.quietHours { QuietHoursRules.check(hours, "\(path).quietHours", &violations) }
    case .summarySize: break
    }
  }
}
