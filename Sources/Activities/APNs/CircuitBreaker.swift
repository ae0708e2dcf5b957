/// Keeps a route that fails from being tried all the time: after some failures in a row it opens, after a pause it lets a few
/// pushes through, and what becomes of them closes it or opens it for longer. Pure.
struct CircuitBreaker: Sendable, Hashable {
  struct Limits: Sendable, Hashable {
    /// Failures in a row that open it.
    var failuresMax = 5
    /// Pushes that are let through to find out.
    var probesMax = 4
    var pauseMs: Int64 = 500
    var multiplier = 2.0
    var pauseMsMax: Int64 = 30_000
    /// Fraction by which a pause varies to both sides.
    var jitter = 0.2

    init() {}
  }

  enum State: Sendable, Hashable {
    case closed
    case open(untilMs: Int64)
    /// Letting probes through.
    case trying
  }

  private let limits: Limits
  private(set) var state = State.closed
  private var failuresInRow = 0
  /// How often it opened since it was last closed.
  private var openings = 0

  init(limits: Limits = Limits()) { self.limits = limits }

  /// How many pushes may be under way; nil: as many as the connections take.
  mutating func allowance(nowMs: Int64) -> Int? {
    switch state {
    case .closed: return nil
    case .trying: return limits.probesMax
    case .open(let untilMs):
      guard nowMs >= untilMs else { return 0 }
      state = .trying
      return limits.probesMax
    }
  }

  /// When it lets something through again; nil while it does.
  var retryAtMs: Int64? {
    if case .open(let untilMs) = state { untilMs } else { nil }
  }

  mutating func succeeded() {
    state = .closed
    failuresInRow = 0
    openings = 0
  }

  /// Notes a failure; `random` is in 0..<1. One that comes while it is open is of before and counts for nothing.
  mutating func failed(nowMs: Int64, random: Double) {
    switch state {
    case .open: return
    case .closed:
      failuresInRow += 1
      if failuresInRow < limits.failuresMax { return }
    case .trying: break
    }
    open(nowMs: nowMs, random: random)
  }

  /// Opens it without waiting for more failures: nothing can be sent at all.
  mutating func broken(nowMs: Int64, random: Double) {
    if case .open = state { return }
    open(nowMs: nowMs, random: random)
  }

  private mutating func open(nowMs: Int64, random: Double) {
    var pauseMs = Double(limits.pauseMs)
    // Bounded: a multiplier of 1 never reaches the cap.
    for _ in 0..<min(openings, 64) where pauseMs < Double(limits.pauseMsMax) { pauseMs *= max(1, limits.multiplier) }
    pauseMs = min(pauseMs, Double(limits.pauseMsMax)) * (1 + limits.jitter * (2 * random - 1))
    state = .open(untilMs: nowMs + Int64(max(1, pauseMs)))
    failuresInRow = 0
    openings += 1
  }
}
