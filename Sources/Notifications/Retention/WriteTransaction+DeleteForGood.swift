import CampanileService
import CampanileStore

/// The statements of a permanent deletion.
enum Deletion {
  static let notificationSQL = """
    DELETE FROM notifications WHERE user_id = $1 AND id = $2 RETURNING bucket_id, read_at_ms
    """
  static let deliveriesSQL = "DELETE FROM deliveries WHERE user_id = $1 AND notification_id = $2"
  static let refsSQL = "DELETE FROM content_refs WHERE user_id = $1 AND notification_id = $2 RETURNING content_id"
  static let contentSQL = """
    DELETE FROM contents WHERE content_id = $1
      AND NOT EXISTS (SELECT 1 FROM content_refs WHERE content_refs.content_id = contents.content_id)
    """
}

extension WriteTransaction {
  /// Permanently deletes notifications of a user, updates the counts and logs the changes. Returns the number of
  /// deleted ones.
  func deleteForGood(_ ids: [String], user: String, atMs: Int64, _ notifier: CommitNotifier) throws -> Int {
    var counts: [String: CountChange] = [:]
    var deleted = 0
    for id in ids {
      let row = try queryOne(Deletion.notificationSQL, [.text(user), .text(id)]) { row in
        (bucketID: try row.text(0), isRead: !row.isNull(1))
      }
      guard let row else { continue }
      try deleteAttendants(of: id, user: user)
      try logDeletion(bucketID: row.bucketID, notificationID: id, atMs: atMs, user: user, notifier)
      counts[row.bucketID, default: CountChange()] += CountChange(notifications: -1, unread: row.isRead ? 0 : -1)
      deleted += 1
    }
    try addCounts(counts, user: user)
    return deleted
  }

  /// Deletes everything that belongs to a notification: its timers, its delivery log, reports about it, and media that
  /// no other one refers to.
  func deleteAttendants(of id: String, user: String) throws {
    let key: [SQLValue] = [.text(user), .text(id)]
    try clearTimers(of: id, user: user)
    try execute(Deletion.deliveriesSQL, key)
    try execute(EngagementTable.ofCopySQL, key)
    let contents = try query(Deletion.refsSQL, key) { try $0.text(0) }
    for content in contents { try execute(Deletion.contentSQL, [.text(content)]) }
  }
}
