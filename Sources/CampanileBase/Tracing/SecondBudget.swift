/// A limit on events per second: under overload all calls are slow, and all may request a trace.
public struct SecondBudget: Sendable {
  public let perSecondMax: Int
  private var second: Int64 = 0
  private var count = 0
  private var suppressed = 0

  public init(perSecondMax: Int) { self.perSecondMax = perSecondMax }

  /// Returns the number of events suppressed since the last permitted one, or `nil` if this event is suppressed, too.
  public mutating func take(second now: Int64) -> Int? {
    if now != second { (second, count) = (now, 0) }
    guard count < perSecondMax else {
      suppressed += 1
      return nil
    }
    count += 1
    defer { suppressed = 0 }
    return suppressed
  }
}
