import CampanileRPC
import Synchronization

/// A token bucket that all event loops take from.
final class SharedBucket: Sendable {
  let bucket: TokenBucket
  private let fullAtNs = Atomic<Int64>(TokenBucket.full)

  init(_ limit: RateLimit) { bucket = TokenBucket(limit) }

  /// Takes a token and answers 0, or answers how many nanoseconds until there is one.
  @inline(__always)
  func take(nowNs: Int64) -> Int64 {
    var before = fullAtNs.load(ordering: .relaxed)
    // A loop turns again only when another one has taken a token in the meantime.
    while true {
      let (after, waitNs) = bucket.take(fullAtNs: before, nowNs: nowNs)
      if waitNs > 0 { return waitNs }
      let (isDone, found) = fullAtNs.weakCompareExchange(expected: before, desired: after, ordering: .relaxed)
      if isDone { return 0 }
      before = found
    }
  }

  /// Whether there is a token, without taking it: 0, or the time until there is one.
  func waitNs(nowNs: Int64) -> Int64 {
    bucket.take(fullAtNs: fullAtNs.load(ordering: .relaxed), nowNs: nowNs).waitNs
  }

  func isFull(nowNs: Int64) -> Bool { fullAtNs.load(ordering: .relaxed) <= nowNs }

  func facts(nowNs: Int64) -> QuotaFacts {
    let state = fullAtNs.load(ordering: .relaxed)
    return QuotaFacts(
      limit: bucket.limit.burst, remaining: bucket.remaining(fullAtNs: state, nowNs: nowNs),
      resetMs: bucket.resetMs(fullAtNs: state, nowNs: nowNs))
  }
}

/// How many of something are under way, over all event loops.
final class SharedGauge: Sendable {
  let countMax: Int
  private let value = Atomic<Int>(0)

  init(max countMax: Int) { self.countMax = countMax }

  var count: Int { value.load(ordering: .relaxed) }

  /// Adds one unless that is too many.
  @inline(__always)
  func enter() -> Bool {
    if value.wrappingAdd(1, ordering: .relaxed).newValue <= countMax { return true }
    value.wrappingSubtract(1, ordering: .relaxed)
    return false
  }

  @inline(__always)
  func leave() { value.wrappingSubtract(1, ordering: .relaxed) }
}
