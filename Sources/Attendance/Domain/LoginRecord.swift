/// The stored failures of a name, from all origins except known devices, for the hard stop. A state machine without a
/// clock.
///
/// An attempt is counted before its PIN is checked. A success resets the consecutive failures and removes its own
/// attempt from the count. Other failures within the window stay counted, so that a member's daily login gives an
/// attacker no further attempts.
struct LoginRecord: Sendable, Hashable {
  /// The maximum number of consecutive failures before the stop (NIST SP 800-63B 5.2.2).
  static let inRowMax: Int64 = 100
  /// The maximum number of failures within the window, regardless of successes between them.
  static let totalMax: Int64 = 300
  static let windowMs: Int64 = 90 * 24 * 3_600_000

  /// Attempts since the last success.
  var inRow: Int64 = 0
  /// Attempts within the window, excluding successful ones.
  var total: Int64 = 0
  var windowStartMs: Int64 = 0
  var lastMs: Int64 = 0
  /// The time at which the stop began; 0 if there is none.
  var lockedAtMs: Int64 = 0

  var isLocked: Bool { lockedAtMs != 0 }

  /// Counts an attempt.
  ///
  /// - Returns: Whether the PIN may be checked. If not, the record is locked until an administrator removes it.
  mutating func begin(nowMs: Int64) -> Bool {
    if isLocked { return false }
    if total == 0 || nowMs - windowStartMs >= Self.windowMs { (total, windowStartMs) = (0, nowMs) }
    guard inRow < Self.inRowMax, total < Self.totalMax else {
      lockedAtMs = max(1, nowMs)
      return false
    }
    inRow += 1
    total += 1
    lastMs = nowMs
    return true
  }

  /// Records a successful attempt.
  ///
  /// - Parameter isCounted: False for an attempt from a known device, which `begin` has not counted.
  mutating func succeeded(isCounted: Bool) {
    inRow = 0
    if isCounted { total = max(0, total - 1) }
  }
}
