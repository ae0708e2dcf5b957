/// Configuration of the circuit breaker, which rejects calls to an unavailable peer at once.
package struct BreakerPolicy: Sendable, Hashable {
  /// Consecutive failures that open the breaker.
  package var failuresMax: Int
  /// Calls admitted as probes.
  package var probesMax: Int
  /// The time that calls are rejected before a probe is sent, by the number of openings since the breaker was last
  /// closed.
  package var pause: Backoff

  package init(failuresMax: Int, probesMax: Int = 1, pause: Backoff) {
    self.failuresMax = failuresMax
    self.probesMax = probesMax
    self.pause = pause
  }
}

/// A circuit breaker (closed, open, half-open), which rejects calls to an unavailable peer and probes it after a pause.
///
/// Has no clock and no randomness: callers pass in both. A caller that counts its calls in flight uses `allowance`; any
/// other uses `admit`, which admits one call per pause.
@usableFromInline
package struct CircuitBreaker: Sendable, Hashable {
  package enum State: Sendable, Hashable {
    case closed
    case open(untilMs: Int64)
    /// Probes are in progress; `admit` admits another one if they have not ended by then.
    case halfOpen(untilMs: Int64)
  }

  private let policy: BreakerPolicy
  package private(set) var state: State
  /// Whether all calls are admitted. Stored, because it is read once per call.
  package private(set) var isClosed: Bool
  /// Whether a failure has been recorded since the last success.
  @usableFromInline var hasFailed = false
  private var failures = 0
  /// Number of openings since the breaker was last closed.
  private var openings = 0

  package init(_ policy: BreakerPolicy) {
    self.policy = policy
    state = .closed
    isClosed = true
  }

  /// Admits a call.
  ///
  /// - Returns: `nil` if the call may go; otherwise the milliseconds until one may.
  package mutating func admit(nowMs: Int64) -> Int64? {
    switch state {
    case .closed: return nil
    case .open(let untilMs), .halfOpen(let untilMs):
      guard nowMs >= untilMs else { return untilMs - nowMs }
      probe(nowMs)
      return nil
    }
  }

  /// Returns how many calls may be in flight; nil if the breaker does not limit them.
  package mutating func allowance(nowMs: Int64) -> Int? {
    switch state {
    case .closed: return nil
    case .halfOpen: return policy.probesMax
    case .open(let untilMs):
      guard nowMs >= untilMs else { return 0 }
      probe(nowMs)
      return policy.probesMax
    }
  }

  /// Time at which the breaker admits probes; nil unless it is open.
  package var retryAtMs: Int64? {
    if case .open(let untilMs) = state { untilMs } else { nil }
  }

  /// Records a response, with whatever result, or a report that the peer serves again. Closes the breaker.
  @inlinable
  @inline(__always)
  package mutating func succeeded() {
    if hasFailed { close() }
  }

  @usableFromInline
  mutating func close() {
    state = .closed
    isClosed = true
    hasFailed = false
    failures = 0
    openings = 0
  }

  /// Records a failure. A failure while the breaker is open belongs to an earlier call and is ignored.
  ///
  /// - Parameter random: Between 0 and 1, for the jitter of the pause.
  package mutating func failed(nowMs: Int64, random: Double = 0.5) {
    hasFailed = true
    switch state {
    case .open: return
    case .closed:
      failures += 1
      if failures >= policy.failuresMax { open(nowMs, random) }
    case .halfOpen: open(nowMs, random)
    }
  }

  /// Opens the breaker immediately, because no connection can be established.
  package mutating func broken(nowMs: Int64, random: Double) {
    if case .open = state { return }
    open(nowMs, random)
  }

  /// Records that a probe ended without a result because its caller abandoned it. Another one may follow at once.
  package mutating func probeAbandoned(nowMs: Int64) {
    if case .halfOpen = state { set(.open(untilMs: nowMs)) }
  }

  private mutating func probe(_ nowMs: Int64) {
    set(.halfOpen(untilMs: nowMs + policy.pause.delayMax.wholeMilliseconds))
  }

  private mutating func open(_ nowMs: Int64, _ random: Double) {
    openings += 1
    set(.open(untilMs: nowMs + max(1, policy.pause.delayMs(failures: openings, random: random))))
  }

  private mutating func set(_ state: State) {
    self.state = state
    isClosed = false
    hasFailed = true
  }
}
