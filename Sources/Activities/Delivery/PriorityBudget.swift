/// A token bucket for an activity's pushes with priority 10. Pure.
///
/// iOS delays such pushes beyond an undocumented budget per activity; pushes with priority 5 are not limited ("Starting
/// and updating Live Activities with ActivityKit push notifications"). Updates therefore take from a bucket that
/// refills over time, and its last units are reserved for the end.
struct PriorityBudget: Sendable, Hashable {
  struct Limits: Sendable, Hashable {
    /// Maximum number of consecutive pushes.
    var burst: Int64 = 10
    /// Time to refill one push: ten an hour.
    var refillMs: Int64 = 360_000
    /// Pushes that updates leave for the start and the end.
    var reserve: Int64 = 2

    init() {}

    /// The limits for activities whose user allows frequent updates: four times as many. Apple documents no number.
    static var frequent: Limits {
      var limits = Limits()
      (limits.burst, limits.refillMs) = (40, 90_000)
      return limits
    }
  }

  /// Remaining budget in thousandths of a push.
  private(set) var levelThousandths: Int64
  private(set) var updatedAtMs: Int64

  /// Creates a full bucket.
  init(nowMs: Int64, limits: Limits) { self.init(levelThousandths: limits.burst * 1_000, updatedAtMs: nowMs) }

  init(levelThousandths: Int64, updatedAtMs: Int64) {
    self.levelThousandths = levelThousandths
    self.updatedAtMs = updatedAtMs
  }

  /// Returns the priority of a push whose sender chose none, and takes it from the bucket.
  ///
  /// Starts, ends and alerts always get 10. A background push may only have 5 (Apple: "Pushing background updates to
  /// your App").
  mutating func priority(of kind: PushKind, nowMs: Int64, limits: Limits) -> PushPriority {
    refill(nowMs: nowMs, limits: limits)
    switch kind {
    case .background: return .low
    case .alert, .reload: return .high
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
    // A clock that was set back refills nothing, and the same period never refills twice.
    guard nowMs > updatedAtMs else { return updatedAtMs = nowMs }
    let elapsedMs = min(nowMs - updatedAtMs, limits.burst * max(1, limits.refillMs))
    levelThousandths = min(full, levelThousandths + elapsedMs * 1_000 / max(1, limits.refillMs))
    updatedAtMs = nowMs
  }

  /// Returns the time after which an unused bucket is full and its row can be deleted.
  static func fullAfterMs(_ limits: Limits) -> Int64 { limits.burst * limits.refillMs }
}
