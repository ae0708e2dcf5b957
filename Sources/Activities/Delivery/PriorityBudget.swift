/// How many pushes with priority 10 an activity has left. Pure.
///
/// iOS allows each activity some of them and delays what goes beyond, without saying how many; pushes with priority 5 are free.
/// So updates take from a bucket that refills with time, and the last units of it are kept for the end.
struct PriorityBudget: Sendable, Hashable {
  struct Limits: Sendable, Hashable {
    /// Pushes that may come in a row.
    var burst: Int64 = 10
    /// How long one takes to come back: ten an hour.
    var refillMs: Int64 = 360_000
    /// What updates leave for the start and the end.
    var reserve: Int64 = 2

    init() {}
  }

  /// What is left, in thousandths of a push.
  private(set) var levelThousandths: Int64
  private(set) var updatedAtMs: Int64

  /// A full bucket.
  init(nowMs: Int64, limits: Limits) { self.init(levelThousandths: limits.burst * 1_000, updatedAtMs: nowMs) }

  init(levelThousandths: Int64, updatedAtMs: Int64) {
    self.levelThousandths = levelThousandths
    self.updatedAtMs = updatedAtMs
  }

  /// The priority of a push whose sender chose none. Starts, ends and alerts are never held back; a background push may
  /// have 5 only (Apple: "Pushing background updates to your App").
  mutating func priority(of kind: PushKind, nowMs: Int64, limits: Limits) -> PushPriority {
    refill(nowMs: nowMs, limits: limits)
    switch kind {
    case .background: return .low
    case .alert: return .high
    case .start, .end:
      levelThousandths = max(0, levelThousandths - 1_000)
      return .high
    case .update, .broadcast:
      guard levelThousandths >= (limits.reserve + 1) * 1_000 else { return .low }
      levelThousandths -= 1_000
      return .high
    }
  }

  private mutating func refill(nowMs: Int64, limits: Limits) {
    let full = limits.burst * 1_000
    // A clock that was set back gives nothing, and nothing for the same time twice.
    guard nowMs > updatedAtMs else { return updatedAtMs = nowMs }
    let elapsedMs = min(nowMs - updatedAtMs, limits.burst * max(1, limits.refillMs))
    levelThousandths = min(full, levelThousandths + elapsedMs * 1_000 / max(1, limits.refillMs))
    updatedAtMs = nowMs
  }

  /// When an unused bucket is full again, and need not be kept.
  static func fullAfterMs(_ limits: Limits) -> Int64 { limits.burst * limits.refillMs }
}
