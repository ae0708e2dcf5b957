public import CampanileAPI
import CampanileBase
import CampanileCodec
public import CampanileRPC
import CampanileService

/// Implements `campanile.activities.v1.WidgetsService`: reloads of widgets and controls. For operators.
public struct WidgetsService: WidgetsServiceProtocol {
  let repository: any ActivitiesRepository

  public func reloadWidgets(
    _ request: ReloadWidgetsRequest, context: CallContext
  ) async throws -> ReloadWidgetsResponse {
    try context.requireOperator()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: WidgetsServiceMethods.reloadWidgets, user: context.operatorName)
    return try await repository.reload(
      try WidgetReload(request, traceParent: context.traceParent), idempotency: idempotency)
  }
}
