/// The times at which a device may be woken: at most three pushes at once, and three an hour.
///
/// Apple: "don't try to send more than two or three [background notifications] per hour" (Pushing background updates to
/// your app). The generic cell rate algorithm needs one stored number.
enum WakeBudget {
  /// The time within which changes are pushed together.
  static let delayMs: Int64 = 2_000
  static let intervalMs: Int64 = 1_200_000
  static let burst: Int64 = 3

  /// Returns the time of the next push. `spentMs` is 0 for a device that was never woken.
  static func dueMs(spentMs: Int64, nowMs: Int64) -> Int64 {
    max(nowMs + delayMs, spentMs - (burst - 1) * intervalMs)
  }

  /// Returns the budget after a push.
  static func spend(_ spentMs: Int64, nowMs: Int64) -> Int64 { max(spentMs, nowMs) + intervalMs }
}
