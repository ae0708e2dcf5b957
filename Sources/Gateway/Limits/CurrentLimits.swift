import Synchronization

/// A rate limit that many buckets share, and that can change at run time. Thread-safe.
final class CurrentRate: Sendable {
  // Read by every call. During a change one value may be new and the other old; tokens already taken stay valid.
  private let intervalNs = Atomic<Int64>(0)
  private let depthNs = Atomic<Int64>(0)
  private let current: Mutex<(limit: RateLimit?, sharers: Int)>

  /// - Parameter limit: `nil` for no limit.
  init(_ limit: RateLimit?) {
    current = Mutex((nil, 1))
    set(limit)
  }

  /// The limit of all gateways together.
  var limit: RateLimit? { current.withLock { $0.limit } }

  func set(_ limit: RateLimit?) {
    current.withLock { current in
      current.limit = limit
      store(current)
    }
  }

  /// Divides the limit among a number of gateways.
  func share(among gateways: Int) {
    current.withLock { current in
      guard current.sharers != gateways else { return }
      current.sharers = gateways
      store(current)
    }
  }

  private func store(_ current: (limit: RateLimit?, sharers: Int)) {
    let bucket = current.limit.map { TokenBucket($0, sharers: current.sharers) }
    depthNs.store(bucket?.depthNs ?? 0, ordering: .relaxed)
    intervalNs.store(bucket?.intervalNs ?? 0, ordering: .relaxed)
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
  private let gateways = Atomic<Int>(1)

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

  /// The number of gateways among which rates are divided.
  var gatewayCount: Int { gateways.load(ordering: .relaxed) }

  /// Divides the rates of principals and addresses among a number of gateways. Returns whether it has changed.
  func share(among count: Int) -> Bool {
    for rate in [principalRate, addressRate, anonymousRate] { rate.share(among: count) }
    return gateways.exchange(count, ordering: .relaxed) != count
  }

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
