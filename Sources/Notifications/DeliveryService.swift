public import CampanileAPI
import CampanileCodec
public import CampanileRPC
import CampanileService

/// Serves `campanile.notifications.v1.DeliveryService`: records the results that the push services report in the
/// delivery log.
public struct DeliveryService: DeliveryServiceProtocol {
  let repository: any NotificationsRepository
  let limits: NotificationsLimits

  public func recordDeliveries(
    _ request: RecordDeliveriesRequest, context: CallContext
  ) async throws -> RecordDeliveriesResponse {
    try context.requireOperator()
    var violations = Violations()
    request.validate(into: &violations)
    for (index, delivery) in request.deliveries.enumerated() {
      if let outcome = delivery.record?.outcome, ![.pushed, .noToken, .rejected].contains(outcome) {
        violations.add("deliveries[\(index)].record.outcome", "must be PUSHED, NO_TOKEN or REJECTED", .enumUnknown)
      }
    }
    try violations.check()
    return RecordDeliveriesResponse(recordedCount: Int32(clamping: try await repository.record(request.deliveries)))
  }
}
