/// The network paths of a device so far. No I/O.
struct PathHistory {
  /// An interface and its state, as far as connections depend on it.
  struct Path: Hashable {
    var isSatisfied: Bool
    /// The names of the usable interfaces, such as `en0`.
    var interfaces: [String]
  }

  private var current: Path?

  /// Records a path. Returns whether connections that failed before may succeed now.
  mutating func changed(to path: Path) -> Bool {
    defer { current = path }
    return path.isSatisfied && current != nil && current != path
  }
}

#if canImport(Network)
  import Dispatch
  import Network

  /// Ends the pauses of watches and outboxes once the network is back or another interface is used.
  public final class NetworkMonitor: Sendable {
    private let monitor = NWPathMonitor()
    private let history = Locked(PathHistory())

    /// Starts to observe the network. Releasing the monitor ends it.
    public init(_ signals: ReconnectSignal...) {
      let history = history
      monitor.pathUpdateHandler = { path in
        let next = PathHistory.Path(
          isSatisfied: path.status == .satisfied, interfaces: path.availableInterfaces.map(\.name))
        guard history.withLock({ $0.changed(to: next) }) else { return }
        for signal in signals { signal.notify() }
      }
      monitor.start(queue: DispatchQueue(label: "campanile.network"))
    }

    deinit { monitor.cancel() }
  }
#endif
