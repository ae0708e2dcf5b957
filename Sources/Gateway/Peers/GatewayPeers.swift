import CampanileBase
public import CampanileStore
import Synchronization

/// Connects a gateway with the others on its database: each announces what its commits have changed.
///
/// An announcement carries no data; whoever hears of a change reads the database. On SQLite, which one process owns,
/// this has no effect.
public final class GatewayPeers: Sendable {
  /// The name of changes in `access_changes`.
  static let access = "access"
  /// The name of changes in `gateway_members`.
  static let members = "members"

  private struct State {
    /// The changes of this gateway's current commit.
    var own: Set<String> = []
    /// The changes of other gateways since they were last taken.
    var foreign = ChangedNames.some([])
  }

  private let state = Mutex(State())
  /// Notified after commits of other gateways.
  let signal = WakeSignal()

  public init() {}

  /// Prepares the configuration of the gateway's store. Call it before the store is opened.
  public func attach(to configuration: inout StoreConfiguration) {
    configuration.onBegin = { _ in self.state.withLock { $0.own.removeAll(keepingCapacity: true) } }
    configuration.changedNames = { .some(self.state.withLock { $0.own }) }
    configuration.foreignObserver = { changes in
      self.state.withLock { $0.foreign.add(changes, namesMax: Self.namesMax) }
      self.signal.notify()
    }
  }

  private static let namesMax = 10_000

  /// Announces a change after the current commit. Call it in the write.
  func changed(_ name: String) { state.withLock { _ = $0.own.insert(name) } }

  /// Returns the changes of other gateways since the last call.
  func takeForeign() -> ChangedNames {
    state.withLock { state in
      defer { state.foreign = .some([]) }
      return state.foreign
    }
  }
}
