import CampanileBase
import Synchronization

/// The gateway's metrics.
extension Gateway {
  /// A backend's state, merged over all event loops.
  public struct BackendGauges: Sendable, Hashable {
    public var name: String
    public var isServing: Bool
    /// 0 closed, 1 half open, 2 open: the worst state of all event loops.
    public var breaker: Int
    public var servingAddresses: Int
    /// Streams included.
    public var openCalls: Int
  }

  /// Calls that the gateway itself has refused since its start, by reason.
  public var refusedCalls: [String: Int] { refusals.all }

  /// The gauges of the last `refreshBackendGauges`.
  public var backendGauges: [BackendGauges] { gauges.withLock { $0 } }

  /// Collects the gauges from the event loops, in advance because a scrape cannot wait for them.
  public func refreshBackendGauges() async {
    let found = await backendStatuses().map { status in
      BackendGauges(
        name: status.name, isServing: status.isServing,
        breaker: ["closed", "halfOpen", "open"].firstIndex(of: status.breaker) ?? 0,
        servingAddresses: status.addresses.filter { $0.health == "serving" && !$0.isLeaving }.count,
        openCalls: status.openCalls + status.openStreams)
    }
    gauges.withLock { $0 = found }
  }
}
