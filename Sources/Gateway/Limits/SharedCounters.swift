import CampanileRPC
import Synchronization

/// A token bucket shared by all event loops.
final class SharedBucket: Sendable {
  private let setting: CurrentRate
  private let fullAtNs = Atomic<Int64>(TokenBucket.full)

  init(_ setting: CurrentRate) { self.setting = setting }

  convenience init(_ limit: RateLimit?) { self.init(CurrentRate(limit)) }

  /// `nil` for no limit.
  var limit: RateLimit? { setting.limit }

  /// Takes a token and returns 0; without a token, returns the nanoseconds until there is one.
  @inline(__always)
  func take(nowNs: Int64) -> Int64 {
    guard let bucket = setting.bucket else { return 0 }
    var before = fullAtNs.load(ordering: .relaxed)
    // Retries only if another loop took a token in the meantime.
    while true {
      let (after, waitNs) = bucket.take(fullAtNs: before, nowNs: nowNs)
      if waitNs > 0 { return waitNs }
      let (isDone, found) = fullAtNs.weakCompareExchange(expected: before, desired: after, ordering: .relaxed)
      if isDone { return 0 }
      before = found
    }
  }

  /// Returns 0 if there is a token, otherwise the nanoseconds until there is one. Takes none.
  func waitNs(nowNs: Int64) -> Int64 {
    setting.bucket?.take(fullAtNs: fullAtNs.load(ordering: .relaxed), nowNs: nowNs).waitNs ?? 0
  }

  func isFull(nowNs: Int64) -> Bool { fullAtNs.load(ordering: .relaxed) <= nowNs }

  /// `nil` for no limit.
  func status(nowNs: Int64) -> QuotaStatus? {
    guard let bucket = setting.bucket else { return nil }
    let state = fullAtNs.load(ordering: .relaxed)
    return QuotaStatus(
      limit: bucket.burst, remaining: bucket.remaining(fullAtNs: state, nowNs: nowNs),
      reset: .milliseconds(bucket.resetMs(fullAtNs: state, nowNs: nowNs)))
  }
}

/// A gauge of concurrent items, shared by all event loops.
final class SharedGauge: Sendable {
  private let setting: CurrentCount
  private let value = Atomic<Int>(0)

  init(_ setting: CurrentCount) { self.setting = setting }

  convenience init(max countMax: Int) { self.init(CurrentCount(countMax)) }

  var countMax: Int { setting.count }

  var count: Int { value.load(ordering: .relaxed) }

  /// Adds one unless the maximum is reached.
  @inline(__always)
  func enter() -> Bool {
    if value.wrappingAdd(1, ordering: .relaxed).newValue <= countMax { return true }
    value.wrappingSubtract(1, ordering: .relaxed)
    return false
  }

  @inline(__always)
  func leave() { value.wrappingSubtract(1, ordering: .relaxed) }
}
