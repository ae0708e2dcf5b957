import CampanileHealthReflection
import CampanileServer
import Gateway
import ServiceLifecycle

/// The background work of the gateway's server: its maintenance, and the `grpc.health.v1.Health` status of each
/// service.
struct GatewayService: Service {
  let gateway: Gateway
  let backends: [BackendConfiguration]
  let health: HealthRegistry

  func run() async throws {
    await cancelWhenGracefulShutdown {
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await gateway.maintain() }
        group.addTask { await tellHealth() }
      }
    }
  }

  /// Polls every second instead of observing changes, because the server sets all services to SERVING when it starts.
  private func tellHealth() async {
    while !Task.isCancelled {
      let missing = gateway.missingBackends
      for backend in backends {
        for name in SuiteMethods.serviceNames(of: backend) {
          // Nothing serves before the server listens, whatever the state of the backends.
          guard health.status(of: "") == .serving else { continue }
          health.set(name, missing.contains(backend.name) ? .notServing : .serving)
        }
      }
      await gateway.refreshBackendGauges()
      try? await Task.sleep(for: .seconds(1))
    }
  }
}
