import CampanileService
import CampanileStore

/// Purges rows that are retained for 30 days: deleted notifications and buckets, the delivery log, action runs, reports
/// by devices, and ended invitations and invite codes.
struct NotificationRetention: Sendable {
  let store: Store
  let notifier: CommitNotifier
  /// Rows per commit.
  var batchRows = 200
  /// Commits per purge, for each kind of row.
  var commitsMax = 200

  init(store: Store, notifier: CommitNotifier) {
    self.store = store
    self.notifier = notifier
  }

  static let notificationsSQL = """
    SELECT user_id, id FROM deleted_notifications WHERE deleted_at_ms < $1 ORDER BY deleted_at_ms, user_id, id LIMIT $2
    """
  static let deleteNotificationSQL = "DELETE FROM deleted_notifications WHERE user_id = $1 AND id = $2"
  static let deletedCountSQL = """
    UPDATE users SET deleted_count = deleted_count - $1 WHERE user_id = $2
    """
  static let deliveriesSQL = """
    DELETE FROM deliveries WHERE (user_id, notification_id, at_ms, device_id, outcome, push_id) IN (
      SELECT user_id, notification_id, at_ms, device_id, outcome, push_id FROM deliveries
      WHERE at_ms < $1 ORDER BY at_ms LIMIT $2)
    """
  static let runsSQL = """
    DELETE FROM action_runs WHERE (user_id, id) IN (
      SELECT user_id, id FROM action_runs WHERE created_at_ms < $1 ORDER BY created_at_ms LIMIT $2)
    """
  static let invitationsSQL = """
    DELETE FROM invitations WHERE id IN (
      SELECT id FROM invitations WHERE ends_at_ms < $1 ORDER BY ends_at_ms LIMIT $2)
    """
  static let inviteCodesSQL = """
    DELETE FROM invite_codes WHERE id IN (
      SELECT id FROM invite_codes WHERE expires_at_ms < $1 ORDER BY expires_at_ms LIMIT $2)
    """
  static let bucketSQL = """
    SELECT user_id, id FROM buckets WHERE deleted_at_ms IS NOT NULL AND deleted_at_ms < $1
    ORDER BY deleted_at_ms, user_id, id LIMIT 1
    """
  static let ofBucketSQL = """
    SELECT id FROM deleted_notifications WHERE user_id = $1 AND bucket_id = $2 ORDER BY id LIMIT $3
    """
  static let keysSQL = "DELETE FROM publish_keys WHERE owner_id = $1 AND bucket_id = $2"
  static let deleteBucketSQL = "DELETE FROM buckets WHERE user_id = $1 AND id = $2"

  /// Purges expired rows and returns their number.
  func purge(nowMs: Int64) async throws -> Int {
    let cutoff = nowMs - Trash.retentionMs
    let rowsMax = max(1, batchRows)
    var count = try await repeating { try Self.dropNotifications(before: cutoff, rowsMax: rowsMax, $0) }
    let notifier = notifier
    count += try await repeating {
      try Self.dropBucketRows(before: cutoff, nowMs: nowMs, rowsMax: rowsMax, notifier, $0)
    }
    count += try await repeating { try EngagementTable.purge(before: cutoff, rowsMax: rowsMax, $0) }
    let statements = [
      Self.deliveriesSQL, Self.runsSQL, Self.invitationsSQL, Self.inviteCodesSQL, EngagementTable.oldCountsSQL,
    ]
    for sql in statements {
      count += try await repeating { try $0.executeCounting(sql, [.integer(cutoff), .int(rowsMax)]) }
    }
    return count
  }

  /// Repeats a deleting commit until it finds no more rows.
  private func repeating(_ delete: @escaping @Sendable (WriteTransaction) throws -> Int) async throws -> Int {
    try await store.purge(batchRows: 1, batchesMax: commitsMax) { [notifier] transaction in
      try notifier.settle(transaction)
      return try delete(transaction)
    }
  }

  private static func dropNotifications(
    before cutoff: Int64, rowsMax: Int, _ transaction: WriteTransaction
  ) throws -> Int {
    let keys = try transaction.query(notificationsSQL, [.integer(cutoff), .int(rowsMax)]) { row in
      (user: try row.text(0), id: try row.text(1))
    }
    for (user, keys) in Dictionary(grouping: keys, by: \.user) {
      try drop(keys.map(\.id), user: user, transaction)
    }
    return keys.count
  }

  private static func drop(_ ids: [String], user: String, _ transaction: WriteTransaction) throws {
    for id in ids {
      try transaction.execute(deleteNotificationSQL, [.text(user), .text(id)])
      try transaction.deleteAttendants(of: id, user: user)
    }
    try transaction.execute(deletedCountSQL, [.int(ids.count), .text(user)])
  }

  /// Deletes the next rows of one deleted bucket, and finally the bucket itself.
  private static func dropBucketRows(
    before cutoff: Int64, nowMs: Int64, rowsMax: Int, _ notifier: CommitNotifier, _ transaction: WriteTransaction
  ) throws -> Int {
    let found = try transaction.queryOne(bucketSQL, [.integer(cutoff)]) { (try $0.text(0), try $0.text(1)) }
    guard let (user, id) = found else { return 0 }
    let key: [SQLValue] = [.text(user), .text(id)]
    let kept = try transaction.query(RetentionJob.oldestSQL, key + ["n_~", .int(rowsMax)]) { try $0.text(0) }
    if !kept.isEmpty { return try transaction.deleteForGood(kept, user: user, atMs: nowMs, notifier) }
    let deleted = try transaction.query(ofBucketSQL, key + [.int(rowsMax)]) { try $0.text(0) }
    if !deleted.isEmpty {
      try drop(deleted, user: user, transaction)
      return deleted.count
    }
    let keys = try transaction.executeCounting(keysSQL, key)
    try transaction.execute(EngagementTable.dropCountsSQL, key)
    try transaction.clearTimers(of: id, user: user)
    try transaction.execute(deleteBucketSQL, key)
    return keys + 1
  }
}
