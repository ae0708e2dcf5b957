import Synchronization

/// How fast a caller is refused that goes on beyond its rate. Safe from any thread.
///
/// A refusal costs as much as half a call, and one who asks again at once could have a gateway do nothing else. So a share's refusals
/// have a rate too: who is beyond it has to wait until its connection is read from again, each connection for its own turn.
final class RefusalPace: Sendable {
  static let perSecond: Int64 = 5_000
  /// How many refusals nobody waits for.
  static let burst: Int64 = 500
  /// The longest wait.
  static let restMaxNs: Int64 = 1_000_000_000

  private static let intervalNs = 1_000_000_000 / perSecond
  private static let bucket = TokenBucket(intervalNs: intervalNs, depthNs: intervalNs * burst)
  private let fullAtNs = Atomic<Int64>(TokenBucket.full)

  /// Counts a refusal. Answers how long the connection that it went to has to wait: 0 to `restMaxNs`.
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
