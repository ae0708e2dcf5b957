/// How calls are sent to a second address.
public struct SecondAttemptPolicy: Sendable, Hashable {
  /// Second attempts for each call.
  public var ratio = 0.2
  /// Second attempts at once after a good time.
  public var burst = 100
  /// After how long a unary call that only reads is sent to a second address too, where there is one; `nil` for never.
  public var hedgeMs: Int64?

  public init() {}
}

/// How many calls may be sent to another address: a part of all calls, so that a backend in trouble is not sent twice as many.
struct RetryBudget: Sendable, Hashable {
  /// What a call adds and a retry takes, in thousandths.
  private static let retry = 1_000
  let perCall: Int
  let balanceMax: Int
  private var balance: Int

  /// - Parameters:
  ///   - ratio: retries for each call, 0 to 1.
  ///   - burst: retries at once after a good time; and at the start.
  init(ratio: Double, burst: Int) {
    perCall = Int((min(max(ratio, 0), 1) * Double(Self.retry)).rounded())
    balanceMax = max(0, burst) * Self.retry
    balance = balanceMax
  }

  /// A call was sent.
  @inline(__always)
  mutating func called() { balance = min(balanceMax, balance + perCall) }

  /// Takes a retry, if there is one.
  mutating func take() -> Bool {
    guard balance >= Self.retry else { return false }
    balance -= Self.retry
    return true
  }
}
