/// When an address that answers badly is left out for a while.
public struct OutlierPolicy: Sendable, Hashable {
  /// Failures in a row that eject an address.
  public var consecutiveFailuresMax = 5
  /// The part of a window's calls that must have failed to eject an address, 0 to 1.
  public var failureRatioMax = 0.5
  /// Calls of a window below which the ratio says nothing.
  public var ratioCallsMin = 20
  /// How long calls are counted together for the ratio.
  public var windowMs: Int64 = 10_000
  /// How long the first ejection lasts; each further one twice as long as the one before, up to the maximum.
  public var ejectionMs: Int64 = 5_000
  public var ejectionMsMax: Int64 = 300_000
  /// The part of the addresses that may be ejected at the same time, rounded down: one address alone never is.
  public var ejectedFractionMax = 0.5

  public init() {}
}

/// Finds the addresses of one backend that answer worse than they should. It has no clock: it is told the time.
///
/// Only failures that speak of the server count: UNAVAILABLE and INTERNAL.
struct OutlierDetector {
  private struct Address {
    var consecutiveFailures = 0
    var calls = 0
    var failures = 0
    var windowStartMs: Int64 = 0
    /// How often it was ejected, less one for each window that it behaved since.
    var ejections = 0
    var ejectedUntilMs: Int64?
  }

  let policy: OutlierPolicy
  private var addresses: [Address]
  /// How many there are now. Their indices may lie behind it, up to `BackendConfiguration.addressesMax`.
  var addressCount: Int
  private(set) var ejectedCount = 0

  init(_ policy: OutlierPolicy, addressCount: Int) {
    self.policy = policy
    self.addressCount = addressCount
    addresses = Array(repeating: Address(), count: max(addressCount, BackendConfiguration.addressesMax))
  }

  /// The most addresses that may be ejected at once.
  var ejectedMax: Int { Int(Double(addressCount) * min(max(policy.ejectedFractionMax, 0), 1)) }

  /// Another address has this index from now on.
  mutating func forget(_ index: Int) {
    if addresses[index].ejectedUntilMs != nil { ejectedCount -= 1 }
    addresses[index] = Address()
  }

  /// For how long the address is left out; `nil` when it is not.
  func ejectedForMs(_ index: Int, nowMs: Int64) -> Int64? {
    addresses[index].ejectedUntilMs.flatMap { $0 > nowMs ? $0 - nowMs : nil }
  }

  /// Whether the address is left out now. An ejection that is over ends here.
  mutating func isEjected(_ index: Int, nowMs: Int64) -> Bool {
    guard let until = addresses[index].ejectedUntilMs else { return false }
    guard nowMs >= until else { return true }
    addresses[index].ejectedUntilMs = nil
    addresses[index].consecutiveFailures = 0
    startWindow(index, nowMs)
    ejectedCount -= 1
    return false
  }

  /// A call was answered well, or badly in a way that is not the server's fault.
  @inline(__always)
  mutating func succeeded(_ index: Int, nowMs: Int64) {
    roll(index, nowMs)
    addresses[index].consecutiveFailures = 0
    addresses[index].calls += 1
  }

  /// A call failed by the server's fault. Answers whether that ejected the address.
  @discardableResult
  mutating func failed(_ index: Int, nowMs: Int64) -> Bool {
    roll(index, nowMs)
    addresses[index].consecutiveFailures += 1
    addresses[index].calls += 1
    addresses[index].failures += 1
    // Calls that were under way when the address was ejected do not prolong it.
    guard addresses[index].ejectedUntilMs == nil, isOutlier(addresses[index]), ejectedCount < ejectedMax else {
      return false
    }
    let doublings = min(addresses[index].ejections, 30)
    let lengthMs = min(policy.ejectionMs << Int64(doublings), policy.ejectionMsMax)
    addresses[index].ejectedUntilMs = nowMs + max(1, lengthMs)
    addresses[index].ejections += 1
    ejectedCount += 1
    return true
  }

  private func isOutlier(_ address: Address) -> Bool {
    if address.consecutiveFailures >= max(policy.consecutiveFailuresMax, 1) { return true }
    return address.calls >= max(policy.ratioCallsMin, 1)
      && Double(address.failures) >= policy.failureRatioMax * Double(address.calls)
  }

  @inline(__always)
  private mutating func roll(_ index: Int, _ nowMs: Int64) {
    if nowMs - addresses[index].windowStartMs >= policy.windowMs { startWindow(index, nowMs) }
  }

  private mutating func startWindow(_ index: Int, _ nowMs: Int64) {
    let behaved = addresses[index].ejectedUntilMs == nil && addresses[index].calls > 0 && addresses[index].failures == 0
    if behaved, addresses[index].ejections > 0 { addresses[index].ejections -= 1 }
    addresses[index].windowStartMs = nowMs
    addresses[index].calls = 0
    addresses[index].failures = 0
  }
}
