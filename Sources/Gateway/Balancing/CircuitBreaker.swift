/// When calls to a backend that does not work are refused at once.
public struct BreakerPolicy: Sendable, Hashable {
  /// Calls in a row that failed with UNAVAILABLE on one event loop.
  public var failuresMax = 20
  /// How long calls are refused then, before one is let through; each further time twice as long, up to the maximum.
  public var openMs: Int64 = 500
  public var openMsMax: Int64 = 10_000

  public init() {}
}

/// Refuses calls to a backend that answers none, and tries it again now and then (closed, open, half-open). It has no clock: it is
/// told the time.
struct CircuitBreaker: Sendable, Hashable {
  enum State: Sendable, Hashable {
    case closed
    case open(untilMs: Int64)
    /// One call is on its way to find out; another one may follow when it has not told by then.
    case halfOpen(untilMs: Int64)
  }

  private let policy: BreakerPolicy
  private(set) var state = State.closed
  private var failures = 0
  /// How often it opened without closing in between.
  private var openings = 0

  init(_ policy: BreakerPolicy) { self.policy = policy }

  @inline(__always) var isClosed: Bool { state == .closed }

  /// Whether a call may go; else in how many milliseconds one may.
  mutating func admit(nowMs: Int64) -> Int64? {
    switch state {
    case .closed: return nil
    case .open(let untilMs), .halfOpen(let untilMs):
      guard nowMs >= untilMs else { return untilMs - nowMs }
      state = .halfOpen(untilMs: nowMs + policy.openMsMax)
      return nil
    }
  }

  /// The backend answered, well or badly; or it says that it serves again.
  @inline(__always)
  mutating func succeeded() {
    if failures > 0 || openings > 0 { close() }
  }

  private mutating func close() {
    state = .closed
    failures = 0
    openings = 0
  }

  /// A call could not be answered.
  mutating func failed(nowMs: Int64) {
    failures += 1
    switch state {
    case .closed: if failures >= policy.failuresMax { open(nowMs) }
    case .halfOpen: open(nowMs)
    // A call that was under way when it opened.
    case .open: break
    }
  }

  /// The call that was to find out ended without telling anything: its caller gave it up.
  mutating func toldNothing(nowMs: Int64) {
    if case .halfOpen = state { state = .open(untilMs: nowMs) }
  }

  private mutating func open(_ nowMs: Int64) {
    let lengthMs = min(policy.openMs << Int64(min(openings, 16)), policy.openMsMax)
    openings += 1
    state = .open(untilMs: nowMs + max(1, lengthMs))
  }
}
