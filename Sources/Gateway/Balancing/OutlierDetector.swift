import CampanileBase

/// Configuration of the temporary ejection of failing addresses.
public struct OutlierPolicy: Sendable, Hashable {
  /// Consecutive failures that eject an address.
  public var consecutiveFailuresMax = 5
  /// The ratio of failed calls in a window that ejects an address, 0 to 1.
  public var failureRatioMax = 0.5
  /// The minimum number of calls in a window for the ratio to count.
  public var ratioCallsMin = 20
  /// The length of a window.
  public var windowMs: Int64 = 10_000
  /// The length of the first ejection. Each further one is twice as long, up to the maximum.
  public var ejectionMs: Int64 = 5_000
  public var ejectionMsMax: Int64 = 300_000
  /// The maximum fraction of addresses ejected at the same time, rounded down: a single address is never ejected.
  public var ejectedFractionMax = 0.5

  public init() {}
}

/// Detects addresses of one backend that fail more often than they should. Has no clock: callers pass in the time.
///
/// Only the server's own failures count: UNAVAILABLE and INTERNAL.
struct OutlierDetector {
  private struct Address {
    var consecutiveFailures = 0
    var calls = 0
    var failures = 0
    var windowStartMs: Int64 = 0
    /// Number of ejections, minus one for each later window without failures.
    var ejections = 0
    var ejectedUntilMs: Int64?
  }

  let policy: OutlierPolicy
  private var addresses: [Address]
  /// Number of current addresses. Their indices may be higher, up to `BackendConfiguration.addressesMax`.
  var addressCount: Int
  private(set) var ejectedCount = 0

  init(_ policy: OutlierPolicy, addressCount: Int) {
    self.policy = policy
    self.addressCount = addressCount
    addresses = Array(repeating: Address(), count: max(addressCount, BackendConfiguration.addressesMax))
  }

  /// Maximum number of addresses ejected at once.
  var ejectedMax: Int { Int(Double(addressCount) * min(max(policy.ejectedFractionMax, 0), 1)) }

  /// Resets the index for a new address.
  mutating func forget(_ index: Int) {
    if addresses[index].ejectedUntilMs != nil { ejectedCount -= 1 }
    addresses[index] = Address()
  }

  /// Returns the remaining time of the ejection; `nil` if the address is not ejected.
  func ejectedForMs(_ index: Int, nowMs: Int64) -> Int64? {
    addresses[index].ejectedUntilMs.flatMap { $0 > nowMs ? $0 - nowMs : nil }
  }

  /// Reports whether the address is ejected, and ends an ejection that is over.
  mutating func isEjected(_ index: Int, nowMs: Int64) -> Bool {
    guard let until = addresses[index].ejectedUntilMs else { return false }
    guard nowMs >= until else { return true }
    addresses[index].ejectedUntilMs = nil
    addresses[index].consecutiveFailures = 0
    startWindow(index, nowMs)
    ejectedCount -= 1
    return false
  }

  /// Records a response that is a success or an error not caused by the server.
  @inline(__always)
  mutating func succeeded(_ index: Int, nowMs: Int64) {
    roll(index, nowMs)
    addresses[index].consecutiveFailures = 0
    addresses[index].calls += 1
  }

  /// Records a failure caused by the server. Returns whether it ejected the address.
  @discardableResult
  mutating func failed(_ index: Int, nowMs: Int64) -> Bool {
    roll(index, nowMs)
    addresses[index].consecutiveFailures += 1
    addresses[index].calls += 1
    addresses[index].failures += 1
    // Calls that were in progress at the ejection do not prolong it.
    guard addresses[index].ejectedUntilMs == nil, isOutlier(addresses[index]), ejectedCount < ejectedMax else {
      return false
    }
    addresses[index].ejections += 1
    let length = Backoff(
      initialDelay: .milliseconds(policy.ejectionMs), multiplier: 2, jitter: 0,
      delayMax: .milliseconds(policy.ejectionMsMax))
    addresses[index].ejectedUntilMs = nowMs + max(1, length.delayMs(failures: addresses[index].ejections, random: 0.5))
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
