public import CampanileAPI
public import CampanileRPC

extension NotificationsService {
  public func undeleteBucket(_ request: UndeleteBucketRequest, context: CallContext) async throws
    -> UndeleteBucketResponse
  {
    throw RPCError(.unimplemented, "not yet")
  }
  public func snoozeBucket(_ request: SnoozeBucketRequest, context: CallContext) async throws -> SnoozeBucketResponse {
    throw RPCError(.unimplemented, "not yet")
  }
  public func undeleteNotifications(_ request: UndeleteNotificationsRequest, context: CallContext) async throws
    -> UndeleteNotificationsResponse
  {
    throw RPCError(.unimplemented, "not yet")
  }
  public func listDeletedNotifications(_ request: ListDeletedNotificationsRequest, context: CallContext) async throws
    -> ListDeletedNotificationsResponse
  {
    throw RPCError(.unimplemented, "not yet")
  }
  public func markAllNotificationsRead(_ request: MarkAllNotificationsReadRequest, context: CallContext) async throws
    -> MarkAllNotificationsReadResponse
  {
    throw RPCError(.unimplemented, "not yet")
  }
  public func snoozeNotification(_ request: SnoozeNotificationRequest, context: CallContext) async throws
    -> SnoozeNotificationResponse
  {
    throw RPCError(.unimplemented, "not yet")
  }
  public func postponeNotification(_ request: PostponeNotificationRequest, context: CallContext) async throws
    -> PostponeNotificationResponse
  {
    throw RPCError(.unimplemented, "not yet")
  }
  public func listScheduledNotifications(_ request: ListScheduledNotificationsRequest, context: CallContext)
    async throws -> ListScheduledNotificationsResponse
  {
    throw RPCError(.unimplemented, "not yet")
  }
  public func cancelScheduledNotification(_ request: CancelScheduledNotificationRequest, context: CallContext)
    async throws -> CancelScheduledNotificationResponse
  {
    throw RPCError(.unimplemented, "not yet")
  }
  public func searchNotifications(_ request: SearchNotificationsRequest, context: CallContext) async throws
    -> SearchNotificationsResponse
  {
    throw RPCError(.unimplemented, "not yet")
  }
  public func getAttachmentContent(_ request: GetAttachmentContentRequest, context: CallContext) async throws
    -> GetAttachmentContentResponse
  {
    throw RPCError(.unimplemented, "not yet")
  }
  public func getLongLook(_ request: GetLongLookRequest, context: CallContext) async throws -> GetLongLookResponse {
    throw RPCError(.unimplemented, "not yet")
  }
  public func invokeAction(_ request: InvokeActionRequest, context: CallContext) async throws -> InvokeActionResponse {
    throw RPCError(.unimplemented, "not yet")
  }
  public func listActionRuns(_ request: ListActionRunsRequest, context: CallContext) async throws
    -> ListActionRunsResponse
  {
    throw RPCError(.unimplemented, "not yet")
  }
  public func explainDelivery(_ request: ExplainDeliveryRequest, context: CallContext) async throws
    -> ExplainDeliveryResponse
  {
    throw RPCError(.unimplemented, "not yet")
  }
  public func getUnreadSummary(_ request: GetUnreadSummaryRequest, context: CallContext) async throws
    -> GetUnreadSummaryResponse
  {
    throw RPCError(.unimplemented, "not yet")
  }
  public func getUserSettings(_ request: GetUserSettingsRequest, context: CallContext) async throws
    -> GetUserSettingsResponse
  {
    throw RPCError(.unimplemented, "not yet")
  }
  public func updateUserSettings(_ request: UpdateUserSettingsRequest, context: CallContext) async throws
    -> UpdateUserSettingsResponse
  {
    throw RPCError(.unimplemented, "not yet")
  }
}
