public import CampanileAPI
import CampanileCodec
public import CampanileRPC
import CampanileService

/// Serves `campanile.notifications.v1.DeliveryService`: records the results that the push services report in the
/// delivery log, and shows operators the users and their deliveries.
public struct DeliveryService: DeliveryServiceProtocol {
  let repository: any NotificationsRepository
  let limits: NotificationsLimits

  public func recordDeliveries(
    _ request: RecordDeliveriesRequest, context: CallContext
  ) async throws -> RecordDeliveriesResponse {
    try context.requireOperator()
    try request.checkConstraints()
    return RecordDeliveriesResponse(recordedCount: Int32(clamping: try await repository.record(request.deliveries)))
  }

  public func explainUserDelivery(
    _ request: ExplainUserDeliveryRequest, context: CallContext
  ) async throws -> ExplainUserDeliveryResponse {
    try context.requireOperator()
    try request.checkConstraints()
    let query = try PositionQuery(
      user: request.userId, pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["delivery", request.notificationId], parts: 4, limits: limits)
    let (records, nextPageToken) = query.page(try await repository.deliveries(of: request.notificationId, query)) {
      DeliveryKey($0).parts
    }
    return ExplainUserDeliveryResponse(records: records, nextPageToken: nextPageToken)
  }

  public func listNotificationUsers(
    _ request: ListNotificationUsersRequest, context: CallContext
  ) async throws -> ListNotificationUsersResponse {
    try context.requireOperator()
    try request.checkConstraints()
    let query = try PositionQuery(
      user: "", pageSize: request.pageSize, pageToken: request.pageToken,
      scope: ["notification-users", request.userIdPrefix], parts: 1, limits: limits)
    let (users, nextPageToken) = query.page(try await repository.users(query, prefix: request.userIdPrefix)) {
      [$0.userId]
    }
    return ListNotificationUsersResponse(users: users, nextPageToken: nextPageToken)
  }
}
