import Synchronization

/// A rate limit that many buckets share, and that can change at run time. Thread-safe.
final class CurrentRate: Sendable {
  // Read by every call. During a change one value may be new and the other old; tokens already taken stay valid.
  private let intervalNs = Atomic<Int64>(0)
  private let depthNs = Atomic<Int64>(0)
  private let current: Mutex<RateLimit?>

  /// - Parameter limit: `nil` for no limit.
  init(_ limit: RateLimit?) {
    current = Mutex(nil)
    set(limit)
  }

  var limit: RateLimit? { current.withLock { $0 } }

  func set(_ limit: RateLimit?) {
    let bucket = limit.map { TokenBucket($0) }
    current.withLock { current in
      current = limit
      depthNs.store(bucket?.depthNs ?? 0, ordering: .relaxed)
      intervalNs.store(bucket?.intervalNs ?? 0, ordering: .relaxed)
    }
  }

  /// `nil` for no limit.
  @inline(__always)
  var bucket: TokenBucket? {
    let intervalNs = intervalNs.load(ordering: .relaxed)
    guard intervalNs > 0 else { return nil }
    return TokenBucket(intervalNs: intervalNs, depthNs: depthNs.load(ordering: .relaxed))
  }
}

/// A maximum that many gauges share, and that can change at run time. Thread-safe.
final class CurrentCount: Sendable {
  private let value: Atomic<Int>

  init(_ count: Int) { value = Atomic(count) }

  var count: Int { value.load(ordering: .relaxed) }
  func set(_ count: Int) { value.store(count, ordering: .relaxed) }
}

/// The current limits, which shares and their buckets read.
final class CurrentLimits: Sendable {
  let principalRate: CurrentRate
  let addressRate: CurrentRate
  let anonymousRate: CurrentRate
  let principalCallsMax: CurrentCount
  let principalStreamsMax: CurrentCount
  let sharesMax: Int
  private let current: Mutex<GatewayLimits>

  init(_ policy: GatewayLimits) {
    principalRate = CurrentRate(policy.principalRate)
    addressRate = CurrentRate(policy.addressRate)
    anonymousRate = CurrentRate(policy.anonymousRate)
    principalCallsMax = CurrentCount(policy.principalCallsMax)
    principalStreamsMax = CurrentCount(policy.principalStreamsMax)
    sharesMax = policy.sharesMax
    current = Mutex(policy)
  }

  var policy: GatewayLimits { current.withLock { $0 } }

  /// Applies new limits; usage is kept. Does not change `sharesMax` or the limits that event loops count themselves.
  func apply(_ policy: GatewayLimits) {
    current.withLock { $0 = policy }
    principalRate.set(policy.principalRate)
    addressRate.set(policy.addressRate)
    anonymousRate.set(policy.anonymousRate)
    principalCallsMax.set(policy.principalCallsMax)
    principalStreamsMax.set(policy.principalStreamsMax)
  }
}
