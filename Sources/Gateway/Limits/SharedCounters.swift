import CampanileRPC
import Synchronization

/// A token bucket that all event loops take from.
final class SharedBucket: Sendable {
  private let setting: RateSetting
  private let fullAtNs = Atomic<Int64>(TokenBucket.full)

  init(_ setting: RateSetting) { self.setting = setting }

  convenience init(_ limit: RateLimit?) { self.init(RateSetting(limit)) }

  /// `nil` where nothing is limited.
  var limit: RateLimit? { setting.limit }

  /// Takes a token and answers 0, or answers how many nanoseconds until there is one.
  @inline(__always)
  func take(nowNs: Int64) -> Int64 {
    guard let bucket = setting.bucket else { return 0 }
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
    setting.bucket?.take(fullAtNs: fullAtNs.load(ordering: .relaxed), nowNs: nowNs).waitNs ?? 0
  }

  func isFull(nowNs: Int64) -> Bool { fullAtNs.load(ordering: .relaxed) <= nowNs }

  /// `nil` where nothing is limited.
  func facts(nowNs: Int64) -> QuotaFacts? {
    guard let bucket = setting.bucket else { return nil }
    let state = fullAtNs.load(ordering: .relaxed)
    return QuotaFacts(
      limit: bucket.burst, remaining: bucket.remaining(fullAtNs: state, nowNs: nowNs),
      resetMs: bucket.resetMs(fullAtNs: state, nowNs: nowNs))
  }
}

/// How many of something are under way, over all event loops.
final class SharedGauge: Sendable {
  private let setting: CountSetting
  private let value = Atomic<Int>(0)

  init(_ setting: CountSetting) { self.setting = setting }

  convenience init(max countMax: Int) { self.init(CountSetting(countMax)) }

  var countMax: Int { setting.count }

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
