public import CampanileRPC
import Synchronization

/// Wakes the watches of a user after a commit. It carries no events: each watch reads the log at its own pace, so a slow
/// one holds up neither writers nor memory.
public final class WatchHub: Sendable {
  private struct State {
    var bells: [String: [WatchBell]] = [:]
    var count = 0
    var isClosed = false
  }

  private let limits: any ServiceLimits
  private let state = Mutex(State())

  public init(limits: any ServiceLimits) { self.limits = limits }

  /// Open watches.
  public var count: Int { state.withLock { $0.count } }

  /// Adds a watch. Throws RESOURCE_EXHAUSTED, reason `WATCHES_EXHAUSTED`, beyond the limits, UNAVAILABLE after `close`.
  public func add(user: String) throws(RPCError) -> WatchBell {
    let bell = WatchBell()
    let refusal: RPCError? = state.withLock { state in
      if state.isClosed { return Self.closed }
      let ofUser = state.bells[user]?.count ?? 0
      guard ofUser < limits.watchesPerUserMax else {
        return .exhausted(
          "a user may have \(limits.watchesPerUserMax) open watches", .watchesExhausted,
          limit: limits.watchesPerUserMax)
      }
      guard state.count < limits.watchesMax else {
        return .exhausted(
          "the service has \(limits.watchesMax) open watches", .watchesExhausted, limit: limits.watchesMax)
      }
      state.bells[user, default: []].append(bell)
      state.count += 1
      return nil
    }
    if let refusal { throw refusal }
    return bell
  }

  public func remove(_ bell: WatchBell, user: String) {
    state.withLock { state in
      guard var bells = state.bells[user], let index = bells.firstIndex(where: { $0 === bell }) else { return }
      bells.remove(at: index)
      state.bells[user] = bells.isEmpty ? nil : bells
      state.count -= 1
    }
  }

  /// Says that something of this user was committed.
  public func ring(user: String) {
    let bells = state.withLock { $0.bells[user] }
    guard let bells else { return }
    for bell in bells { bell.ring() }
  }

  /// Ends all watches, so that the service can drain: each is told UNAVAILABLE and resumes elsewhere.
  public func close() {
    let bells = state.withLock { state in
      state.isClosed = true
      return state.bells.values.flatMap { $0 }
    }
    for bell in bells { bell.close() }
  }

  public static let closed = RPCError(
    .unavailable, "the service is stopping: resume the watch", reason: "SERVICE_STOPPING")
}

/// A signal that is remembered until its one waiter takes it: any number of rings before a wait are one.
public final class WatchBell: Sendable {
  private struct State {
    var isRung = false
    var isClosed = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  public init() {}

  public func ring() {
    let waiter = state.withLock { state in
      defer { state.waiter = nil }
      if state.waiter == nil { state.isRung = true }
      return state.waiter
    }
    waiter?.resume()
  }

  public func close() {
    state.withLock { $0.isClosed = true }
    ring()
  }

  /// Returns after the next ring. Throws `CancellationError` when the task is cancelled, UNAVAILABLE when it was closed.
  public func wait() async throws {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let mustResume = state.withLock { state in
          if state.isRung || state.isClosed || state.waiter != nil || Task.isCancelled {
            state.isRung = false
            return true
          }
          state.waiter = continuation
          return false
        }
        if mustResume { continuation.resume() }
      }
    } onCancel: {
      ring()
    }
    try Task.checkCancellation()
    if state.withLock({ $0.isClosed }) { throw WatchHub.closed }
  }
}
