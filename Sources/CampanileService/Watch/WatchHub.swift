public import CampanileBase
import CampanileCodec
import CampanileRPC
public import CampanileStore
import Synchronization

/// Wakes the watches of a user after a commit. It does not carry events: each watch reads the log at its own pace, so a
/// slow one delays no writer and uses no memory.
public final class WatchHub: Sendable {
  private struct State {
    var signals: [String: [WakeSignal]] = [:]
    var count = 0
    var isClosed = false
  }

  private let limit: SharedLimit
  private let state = Mutex(State())

  public init(limits: any ServiceLimits) { limit = limits.watches }

  /// The number of open watches.
  public var count: Int { state.withLock { $0.count } }

  /// Adds a watch. Throws RESOURCE_EXHAUSTED, reason `WATCHES_EXHAUSTED`, if the `SharedLimit` refuses it, and
  /// UNAVAILABLE after `close`.
  public func add(user: String) throws(RPCError) -> WakeSignal {
    let signal = WakeSignal()
    let refusal: RPCError? = state.withLock { state in
      if state.isClosed { return Self.closed }
      do throws(RPCError) {
        try limit.check(
          held: state.signals[user]?.count ?? 0, taken: state.count, of: "open watches", .watchesExhausted)
      } catch {
        return error
      }
      state.signals[user, default: []].append(signal)
      state.count += 1
      return nil
    }
    if let refusal { throw refusal }
    return signal
  }

  public func remove(_ signal: WakeSignal, user: String) {
    state.withLock { state in
      guard var signals = state.signals[user], let index = signals.firstIndex(where: { $0 === signal }) else { return }
      signals.remove(at: index)
      state.signals[user] = signals.isEmpty ? nil : signals
      state.count -= 1
    }
  }

  /// Signals the watches of a user.
  public func notify(user: String) {
    let signals = state.withLock { $0.signals[user] }
    guard let signals else { return }
    for signal in signals { signal.notify() }
  }

  /// Signals the watches of users whose data another process has changed.
  public func notify(_ changes: ChangedNames) {
    switch changes {
    case .some(let users): for user in users.sorted() { notify(user: user) }
    case .all: for signal in state.withLock({ $0.signals.values.flatMap { $0 } }) { signal.notify() }
    }
  }

  /// Ends all watches with UNAVAILABLE, so that the service can drain; callers resume them elsewhere.
  public func close() {
    let signals = state.withLock { state in
      state.isClosed = true
      return state.signals.values.flatMap { $0 }
    }
    for signal in signals { signal.close(Self.closed) }
  }

  public static let closed = RPCError(
    .unavailable, "the service is stopping: resume the watch", reason: "SERVICE_STOPPING")
}
