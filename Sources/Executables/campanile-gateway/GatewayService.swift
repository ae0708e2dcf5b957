import CampanileRuntime
import Gateway
import ServiceLifecycle

/// What runs beside the gateway's server: its maintenance, and telling by `grpc.health.v1.Health` which services serve.
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

  /// Looked at every second rather than told at each change: the server itself declares all services serving when it starts.
  private func tellHealth() async {
    while !Task.isCancelled {
      let missing = gateway.missingBackends
      for backend in backends {
        for name in SuiteMethods.serviceNames(of: backend) {
          // Before the server listens nothing serves, whatever the backends say.
          guard health.status(of: "") == .serving else { continue }
          health.set(name, missing.contains(backend.name) ? .notServing : .serving)
        }
      }
      await gateway.refreshBackendGauges()
      try? await Task.sleep(for: .seconds(1))
    }
  }
}
