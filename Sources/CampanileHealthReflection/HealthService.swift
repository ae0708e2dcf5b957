import CampanileBase
public import CampanileRPC

/// Serves `grpc.health.v1.Health` from a `HealthRegistry`.
public struct HealthService: HealthProtocol {
  private let registry: HealthRegistry

  public init(_ registry: HealthRegistry) {
    self.registry = registry
  }

  /// Returns the status of a service.
  ///
  /// - Throws: NOT_FOUND `SERVICE_UNKNOWN` if the server has no such service.
  public func check(_ request: HealthCheckRequest, context: CallContext) async throws -> HealthCheckResponse {
    guard let status = registry.status(of: request.service) else {
      throw RPCError(.notFound, "this server has no service of that name", reason: "SERVICE_UNKNOWN")
    }
    return Self.response(status)
  }

  public func list(_ request: HealthListRequest, context: CallContext) async throws -> HealthListResponse {
    HealthListResponse(statuses: registry.list().mapValues(Self.response))
  }

  /// Streams the status of a service.
  ///
  /// - Throws: UNAVAILABLE `SERVER_DRAINING` after the last status if the server shuts down; RESOURCE_EXHAUSTED
  ///   `WATCHES_EXHAUSTED` if `HealthRegistry.maximumWatchers` are open.
  public func watch(
    _ request: HealthCheckRequest, context: CallContext, responses: ResponseSink<HealthCheckResponse>
  ) async throws {
    guard let statuses = registry.watch(request.service) else {
      throw RPCError(
        .resourceExhausted, "too many health watches are open", reason: "WATCHES_EXHAUSTED", processed: false)
    }
    for await status in statuses {
      try await responses.send(Self.response(status))
    }
    try Task.checkCancellation()
    throw RPCError(.unavailable, "the server is shutting down", reason: "SERVER_DRAINING")
  }

  /// Reports NOT_SERVING to all watches and ends them.
  public func drainBegan() { registry.beginDraining() }

  private static func response(_ status: HealthStatus) -> HealthCheckResponse {
    HealthCheckResponse(status: HealthCheckResponse.ServingStatus(rawValue: status.rawValue))
  }
}
