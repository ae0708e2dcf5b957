/// Configuration of retries and hedged calls, which go to a second address.
public struct SecondAttemptPolicy: Sendable, Hashable {
  /// Second attempts allowed per call, 0 to 1.
  public var ratio = 0.2
  /// Maximum number of second attempts saved up.
  public var burst = 100
  /// The delay after which a read-only unary call is also sent to a second address, if there is one; `nil` for never.
  public var hedgeMs: Int64?

  public init() {}
}

/// A budget for second attempts as a ratio of all calls, so that retries do not double the load of a failing backend.
struct SecondAttemptBudget: Sendable, Hashable {
  /// The cost of a retry, in thousandths.
  private static let retry = 1_000
  let perCall: Int
  let balanceMax: Int
  private var balance: Int

  /// - Parameters:
  ///   - ratio: Retries per call, 0 to 1.
  ///   - burst: Maximum number of retries saved up; also the initial balance.
  init(ratio: Double, burst: Int) {
    perCall = Int((min(max(ratio, 0), 1) * Double(Self.retry)).rounded())
    balanceMax = max(0, burst) * Self.retry
    balance = balanceMax
  }

  /// Credits the budget for a call.
  @inline(__always)
  mutating func called() { balance = min(balanceMax, balance + perCall) }

  /// Spends a retry, if the budget has one.
  mutating func take() -> Bool {
    guard balance >= Self.retry else { return false }
    balance -= Self.retry
    return true
  }
}
