import Synchronization

/// A rate that many buckets follow, and that can change while they are used. Safe from any thread.
final class RateSetting: Sendable {
  // Read by every call. While the rate changes one may be new and the other old: a bucket holds either way what is taken.
  private let intervalNs = Atomic<Int64>(0)
  private let depthNs = Atomic<Int64>(0)
  private let told: Mutex<RateLimit?>

  /// - Parameter limit: `nil` limits nothing.
  init(_ limit: RateLimit?) {
    told = Mutex(nil)
    set(limit)
  }

  var limit: RateLimit? { told.withLock { $0 } }

  func set(_ limit: RateLimit?) {
    let bucket = limit.map { TokenBucket($0) }
    told.withLock { told in
      told = limit
      depthNs.store(bucket?.depthNs ?? 0, ordering: .relaxed)
      intervalNs.store(bucket?.intervalNs ?? 0, ordering: .relaxed)
    }
  }

  /// `nil` where nothing is limited.
  @inline(__always)
  var bucket: TokenBucket? {
    let intervalNs = intervalNs.load(ordering: .relaxed)
    guard intervalNs > 0 else { return nil }
    return TokenBucket(intervalNs: intervalNs, depthNs: depthNs.load(ordering: .relaxed))
  }
}

/// A number that many gauges follow, and that can change while they are used. Safe from any thread.
final class CountSetting: Sendable {
  private let value: Atomic<Int>

  init(_ count: Int) { value = Atomic(count) }

  var count: Int { value.load(ordering: .relaxed) }
  func set(_ count: Int) { value.store(count, ordering: .relaxed) }
}

/// What callers may use, as it is now: what shares and their buckets look at.
final class LimitSettings: Sendable {
  let principalRate: RateSetting
  let addressRate: RateSetting
  let anonymousRate: RateSetting
  let principalCallsMax: CountSetting
  let principalStreamsMax: CountSetting
  let sharesMax: Int
  private let current: Mutex<LimitPolicy>

  init(_ policy: LimitPolicy) {
    principalRate = RateSetting(policy.principalRate)
    addressRate = RateSetting(policy.addressRate)
    anonymousRate = RateSetting(policy.anonymousRate)
    principalCallsMax = CountSetting(policy.principalCallsMax)
    principalStreamsMax = CountSetting(policy.principalStreamsMax)
    sharesMax = policy.sharesMax
    current = Mutex(policy)
  }

  var policy: LimitPolicy { current.withLock { $0 } }

  /// What has been taken stays taken. The number of shares, and what event loops count by themselves, are not of this.
  func apply(_ policy: LimitPolicy) {
    current.withLock { $0 = policy }
    principalRate.set(policy.principalRate)
    addressRate.set(policy.addressRate)
    anonymousRate.set(policy.anonymousRate)
    principalCallsMax.set(policy.principalCallsMax)
    principalStreamsMax.set(policy.principalStreamsMax)
  }
}
