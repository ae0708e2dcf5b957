public import CampanileAPI
import CampanileCodec
public import CampanileRPC
import CampanileService

extension AutomationService {
  public func createHeartbeat(
    _ request: CreateHeartbeatRequest, context: CallContext
  ) async throws -> CreateHeartbeatResponse {
    let user = try context.requireUser()
    var violations = Violations()
    request.validate(into: &violations)
    let draft = request.heartbeat ?? Heartbeat()
    HeartbeatRules.check(draft, "heartbeat", &violations)
    try violations.check()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: AutomationServiceMethods.createHeartbeat, user: user)
    return CreateHeartbeatResponse(
      heartbeat: try await repository.createHeartbeat(draft, user: user, idempotency: idempotency))
  }

  public func listHeartbeats(
    _ request: ListHeartbeatsRequest, context: CallContext
  ) async throws -> ListHeartbeatsResponse {
    let query = try AutomationQuery(
      .heartbeat, pageSize: request.pageSize, pageToken: request.pageToken, user: try context.requireUser(),
      limits: limits)
    let (heartbeats, nextPageToken) = query.position.page(try await repository.heartbeats(query)) { [$0.id] }
    return ListHeartbeatsResponse(heartbeats: heartbeats, nextPageToken: nextPageToken)
  }

  public func beat(_ request: BeatRequest, context: CallContext) async throws -> BeatResponse {
    let user = try context.requireUser()
    try request.checkConstraints()
    let idempotency = try IdempotentRequest(
      request, id: \.requestId, method: AutomationServiceMethods.beat, user: user)
    return BeatResponse(
      heartbeat: try await repository.beat(request.heartbeatId, user: user, idempotency: idempotency))
  }

  public func deleteHeartbeat(
    _ request: DeleteHeartbeatRequest, context: CallContext
  ) async throws -> DeleteHeartbeatResponse {
    try await repository.deleteHeartbeat(request.heartbeatId, etag: request.etag, user: try context.requireUser())
    return DeleteHeartbeatResponse()
  }
}
