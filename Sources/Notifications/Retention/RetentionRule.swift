import CampanileService

/// The retention policy of a bucket. A value of 0 does not apply.
struct RetentionRule: Sendable, Hashable {
  private static let dayMs: Int64 = 24 * 3_600_000

  var maxAgeDays: Int64
  var maxCount: Int64
  var afterReadMs: Int64

  /// The id below which notifications are too old; nil if age does not matter.
  func expiredBelow(nowMs: Int64) -> String? {
    guard maxAgeDays > 0 else { return nil }
    return SortableID.lowerBound(
      prefix: SortableID.notificationPrefix, timeMs: nowMs - maxAgeDays * Self.dayMs)
  }

  /// The number of oldest notifications in excess of the maximum count.
  func surplus(of count: Int64) -> Int { maxCount > 0 ? Int(max(0, count - maxCount)) : 0 }

  /// Notifications read at or before this time are due; nil if reading does not matter.
  func readThroughMs(nowMs: Int64) -> Int64? {
    afterReadMs > 0 ? nowMs - afterReadMs : nil
  }
}
