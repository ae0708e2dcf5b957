/// Bounds how often something is done within a second: under overload all calls are slow, and all may ask to be traced.
struct SecondBudget {
  let perSecondMax: Int
  private var second: Int64 = 0
  private var count = 0
  private var suppressed = 0

  init(perSecondMax: Int) { self.perSecondMax = perSecondMax }

  /// Answers how many times were left out since the last one, or `nil` when this one is to be left out, too.
  mutating func take(second now: Int64) -> Int? {
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
