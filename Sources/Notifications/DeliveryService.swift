public import CampanileAPI
public import CampanileRPC
import CampanileService

/// Serves `campanile.notifications.v1.DeliveryService`: records the results that the push services report in the
/// delivery log.
public struct DeliveryService: DeliveryServiceProtocol {
  static let textMax = 128

  let repository: any NotificationsRepository
  let limits: NotificationsLimits

  public func recordDeliveries(
    _ request: RecordDeliveriesRequest, context: CallContext
  ) async throws -> RecordDeliveriesResponse {
    try context.requireOperator()
    var violations = Violations()
    RequestChecks.count(request.deliveries.count, "deliveries", limits, &violations)
    for (index, delivery) in request.deliveries.enumerated() {
      Self.check(delivery, "deliveries[\(index)]", &violations)
    }
    try violations.check()
    return RecordDeliveriesResponse(recordedCount: Int32(clamping: try await repository.record(request.deliveries)))
  }

  private static func check(_ delivery: NotificationDelivery, _ path: String, _ violations: inout Violations) {
    violations.text(delivery.userId, "\(path).userId", max: textMax, isRequired: true)
    violations.text(delivery.notificationId, "\(path).notificationId", max: textMax, isRequired: true)
    guard let record = delivery.record else { return violations.add("\(path).record", "must be given", .required) }
    violations.text(record.deviceId, "\(path).record.deviceId", max: textMax)
    violations.text(record.reason, "\(path).record.reason", max: textMax)
    violations.text(record.pushId, "\(path).record.pushId", max: textMax)
    if record.time == nil { violations.add("\(path).record.time", "must be given", .required) }
    if ![.pushed, .noToken, .rejected].contains(record.outcome) {
      violations.add("\(path).record.outcome", "must be PUSHED, NO_TOKEN or REJECTED", .enumUnknown)
    }
  }
}
