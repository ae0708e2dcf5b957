import CampanileStore
import ServiceLifecycle

/// Background services of which only one of the processes on a database runs at a time.
struct SoleServices: Service {
  let store: Store
  let services: [any Service]

  func run() async throws {
    let (store, services) = (store, services)
    await cancelWhenGracefulShutdown {
      await store.whileHolding("background") {
        await withTaskGroup(of: Void.self) { group in
          // Background services log their errors, and throw none.
          for service in services { group.addTask { try? await service.run() } }
        }
      }
    }
  }
}
