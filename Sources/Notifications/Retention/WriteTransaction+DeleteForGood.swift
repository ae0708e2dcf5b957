import CampanileService
import CampanileStore

/// Deleting without a way back: the notification, its counts, its log entry, and everything that hangs on it.
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
  /// Deletes notifications of a user, in one go with their counts and changes, and returns how many there were.
  func deleteForGood(_ ids: [String], user: String, atMs: Int64, _ board: CommitBoard) throws -> Int {
    var counts: [String: CountChange] = [:]
    var deleted = 0
    for id in ids {
      let row = try queryOne(Deletion.notificationSQL, [.text(user), .text(id)]) { row in
        (bucketID: try row.text(0), isRead: !row.isNull(1))
      }
      guard let row else { continue }
      try deleteAttendants(of: id, user: user)
      try logDeletion(bucketID: row.bucketID, notificationID: id, atMs: atMs, user: user, board)
      counts[row.bucketID, default: CountChange()] += CountChange(notifications: -1, unread: row.isRead ? 0 : -1)
      deleted += 1
    }
    try addCounts(counts, user: user)
    return deleted
  }

  /// Deletes what hangs on a notification: timers, its lines in the ledger, and media that no other one has.
  func deleteAttendants(of id: String, user: String) throws {
    let key: [SQLValue] = [.text(user), .text(id)]
    try clearTimers(of: id, user: user)
    try execute(Deletion.deliveriesSQL, key)
    let contents = try query(Deletion.refsSQL, key) { try $0.text(0) }
    for content in contents { try execute(Deletion.contentSQL, [.text(content)]) }
  }
}
