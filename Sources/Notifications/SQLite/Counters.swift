import CampanileAPI
import CampanileStore

/// The difference that a change makes to the counts of buckets and of their user.
struct CountChange: Sendable, Hashable {
  var notifications: Int64 = 0
  var unread: Int64 = 0

  static func += (a: inout CountChange, b: CountChange) {
    a.notifications += b.notifications
    a.unread += b.unread
  }
}

extension WriteTransaction {
  /// Adds the changes of several buckets to their counts, and the sum to the user's.
  func addCounts(_ changes: [String: CountChange], user: String) throws {
    var sum = CountChange()
    for (bucketID, change) in changes where change != CountChange() {
      try add(
        change, Self.addToBucketSQL, [.text(user), .text(bucketID)],
        orThrow: StoreError(.corrupt, "the bucket of a notification is missing"))
      sum += change
    }
    guard sum != CountChange() else { return }
    try add(sum, Self.addToUserSQL, [.text(user)], orThrow: StoreError(.corrupt, "the row of a user is missing"))
  }

  private func add(_ change: CountChange, _ sql: String, _ key: [SQLValue], orThrow error: StoreError) throws {
    try execute(sql, [.integer(change.notifications), .integer(change.unread)] + key, orThrow: error)
  }

  private static let addToBucketSQL = """
    UPDATE buckets SET notification_count = notification_count + $1, unread_count = unread_count + $2
    WHERE user_id = $3 AND id = $4
    """
  private static let addToUserSQL = """
    UPDATE users SET notification_count = notification_count + $1, unread_count = unread_count + $2
    WHERE user_id = $3
    """
}

extension ReadTransaction {
  /// Returns the counts of every bucket with unread notifications, and their sum.
  func unreadCounts(user: String) throws -> UnreadCounts {
    var counts = UnreadCounts()
    let total = try queryOne(Self.userUnreadSQL, [.text(user)]) { try $0.integer(0) }
    guard let total, total > 0 else { return counts }
    counts.total = Int32(clamping: total)
    try forEach(Self.bucketsUnreadSQL, [.text(user)]) { row in
      counts.byBucket[try row.text(0)] = Int32(clamping: try row.integer(1))
      return true
    }
    return counts
  }

  static var userUnreadSQL: String { "SELECT unread_count FROM users WHERE user_id = $1" }
  static var bucketsUnreadSQL: String { "SELECT id, unread_count FROM buckets WHERE user_id = $1 AND unread_count > 0" }
}
