import CampanileService

/// What a bucket's policy deletes at a time. What is 0 does not apply.
struct RetentionRule: Sendable, Hashable {
  private static let hourMs: Int64 = 3_600_000

  var maxAgeDays: Int64
  var maxCount: Int64
  var afterReadHours: Int64

  /// Ids below this are too old; nil when age does not matter.
  func expiredBelow(nowMs: Int64) -> String? {
    guard maxAgeDays > 0 else { return nil }
    return SortableID.lowerBound(
      prefix: SortableID.notificationPrefix, timeMs: nowMs - maxAgeDays * 24 * Self.hourMs)
  }

  /// How many of the oldest are beyond the count.
  func surplus(of count: Int64) -> Int { maxCount > 0 ? Int(max(0, count - maxCount)) : 0 }

  /// Read at or before this, they go; nil when reading does not matter.
  func readThroughMs(nowMs: Int64) -> Int64? {
    afterReadHours > 0 ? nowMs - afterReadHours * Self.hourMs : nil
  }
}
