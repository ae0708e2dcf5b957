import Synchronization

/// Slows down the refusals of a caller that keeps calling beyond its rate. Thread-safe.
///
/// A refusal costs half as much as a call, so a caller that retries at once could keep a gateway busy. The refusals of
/// a share are therefore rate-limited, too. Beyond that rate, the gateway stops reading from the refused connection for
/// a while.
final class RefusalPace: Sendable {
  static let perSecond: Int64 = 5_000
  /// Number of refusals without a wait.
  static let burst: Int64 = 500
  /// Maximum wait.
  static let restMaxNs: Int64 = 1_000_000_000

  private static let intervalNs = 1_000_000_000 / perSecond
  private static let bucket = TokenBucket(intervalNs: intervalNs, depthNs: intervalNs * burst)
  private let fullAtNs = Atomic<Int64>(TokenBucket.full)

  /// Counts a refusal. Returns the time for which its connection must not be read: 0 to `restMaxNs`.
  func restNs(nowNs: Int64) -> Int64 {
    var before = fullAtNs.load(ordering: .relaxed)
    while true {
      let (after, owedNs) = Self.bucket.charge(fullAtNs: before, nowNs: nowNs, owedMaxNs: Self.restMaxNs)
      let (isDone, found) = fullAtNs.weakCompareExchange(expected: before, desired: after, ordering: .relaxed)
      if isDone { return owedNs }
      before = found
    }
  }
}
