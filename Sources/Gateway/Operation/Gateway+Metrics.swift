import Synchronization

/// What the metrics tell of the gateway.
extension Gateway {
  /// A backend as all event loops together see it.
  public struct BackendGauges: Sendable, Hashable {
    public var name: String
    public var isServing: Bool
    /// 0 closed, 1 half open, 2 open: the worst of the event loops'.
    public var breaker: Int
    public var servingAddresses: Int
    /// Streams included.
    public var openCalls: Int
  }

  /// Calls that the gateway has refused itself since the start, by reason.
  public var refusedCalls: [String: Int] { refusals.all }

  /// As `refreshBackendGauges` found them last.
  public var backendGauges: [BackendGauges] { gauges.withLock { $0 } }

  /// Asks the event loops, which a scrape cannot wait for.
  public func refreshBackendGauges() async {
    let found = await backendFacts().map { facts in
      BackendGauges(
        name: facts.name, isServing: facts.isServing,
        breaker: ["closed", "halfOpen", "open"].firstIndex(of: facts.breaker) ?? 0,
        servingAddresses: facts.addresses.filter { $0.health == "serving" && !$0.isLeaving }.count,
        openCalls: facts.openCalls + facts.openStreams)
    }
    gauges.withLock { $0 = found }
  }
}
