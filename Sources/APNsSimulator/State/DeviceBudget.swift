/// The pushes that a device processes within an hour.
///
/// Apple limits priority 10 updates of a Live Activity and background pushes, and documents no numbers ("Starting and
/// updating Live Activities with ActivityKit push notifications", "Pushing background updates to your App").
struct DeviceBudget: Sendable, Hashable {
  static let hourMs: Int64 = 3_600_000
  /// Maximum configurable limit, which bounds the times of a budget.
  static let perHourMax = 1_000

  /// Times of the pushes of the last hour, oldest first.
  private var timesMs: [Int64] = []

  /// Counts a push, unless the hour has its maximum.
  ///
  /// - Parameter perHourMax: 0 for no limit.
  mutating func take(nowMs: Int64, perHourMax: Int) -> Bool {
    guard perHourMax > 0 else { return true }
    timesMs.removeAll { $0 <= nowMs - Self.hourMs }
    guard timesMs.count < perHourMax else { return false }
    timesMs.append(nowMs)
    return true
  }

  /// Returns the number of pushes within the last hour.
  func used(nowMs: Int64) -> Int { timesMs.count { $0 > nowMs - Self.hourMs } }
}
