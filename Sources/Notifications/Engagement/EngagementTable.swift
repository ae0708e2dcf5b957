import CampanileAPI
import CampanileCodec
import CampanileService
import CampanileStore

/// The tables of reports by devices, and their statements.
enum EngagementTable {
  static let copySQL = """
    SELECT n.bucket_id, n.created_at_ms, n.sent_at_ms, b.owner_id, b.share_count
    FROM notifications AS n JOIN buckets AS b ON b.user_id = n.user_id AND b.id = n.bucket_id
    WHERE n.user_id = $1 AND n.id = $2
    """
  static let reportSQL = """
    SELECT 1 FROM engagement
    WHERE user_id = $1 AND notification_id = $2 AND kind = $3 AND action_id = $4 AND device_id = $5
    """
  static let ofKindSQL = "SELECT 1 FROM engagement WHERE user_id = $1 AND notification_id = $2 AND kind = $3 LIMIT 1"
  static let countSQL = "SELECT count(*) FROM engagement WHERE user_id = $1 AND notification_id = $2"
  static let nextSQL =
    "UPDATE engagement_log SET last_sequence = last_sequence + 1 WHERE id = 1 RETURNING last_sequence"
  static let insertSQL = """
    INSERT INTO engagement (sequence, owner_id, bucket_id, notification_id, user_id, device_id, kind, action_id,
      event_at_ms, at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    """
  static let addSQL = """
    INSERT INTO engagement_counts (owner_id, bucket_id, notification_id, received_count, opened_count, dismissed_count,
      acted_count, updated_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (owner_id, bucket_id, notification_id) DO UPDATE SET
      received_count = engagement_counts.received_count + excluded.received_count,
      opened_count = engagement_counts.opened_count + excluded.opened_count,
      dismissed_count = engagement_counts.dismissed_count + excluded.dismissed_count,
      acted_count = engagement_counts.acted_count + excluded.acted_count,
      updated_at_ms = excluded.updated_at_ms
    """

  static let logSQL = "SELECT last_sequence, purged_through FROM engagement_log WHERE id = 1"
  private static let countColumns = "received_count, opened_count, dismissed_count, acted_count"
  static let countsSQL = """
    SELECT \(countColumns), updated_at_ms FROM engagement_counts
    WHERE owner_id = $1 AND bucket_id = $2 AND notification_id = $3
    """
  static let ofBucketSQL = """
    SELECT \(countColumns), updated_at_ms, notification_id FROM engagement_counts
    WHERE owner_id = $1 AND bucket_id = $2 AND notification_id > '' AND notification_id < $3
    ORDER BY notification_id DESC LIMIT $4
    """
  static let copiesSQL = """
    SELECT count(*) FROM buckets AS b JOIN notifications AS n ON n.user_id = b.user_id AND n.id = $3
    WHERE b.id = $2 AND b.owner_id = $1 AND b.owner_id <> ''
    """
  static let actionsSQL = """
    SELECT action_id, user_id FROM engagement
    WHERE owner_id = $1 AND bucket_id = $2 AND notification_id = $3 AND kind = 4 ORDER BY action_id, user_id
    """
  static let changesSQL = """
    SELECT sequence, notification_id, kind, action_id, event_at_ms, at_ms FROM engagement
    WHERE owner_id = $1 AND bucket_id = $2 AND sequence > $3 ORDER BY sequence LIMIT $4
    """

  static let oldSQL = "SELECT sequence FROM engagement WHERE at_ms < $1 ORDER BY at_ms LIMIT $2"
  static let dropSQL = "DELETE FROM engagement WHERE sequence = $1"
  static let purgedSQL = "UPDATE engagement_log SET purged_through = $1 WHERE id = 1 AND purged_through < $1"
  static let oldCountsSQL = """
    DELETE FROM engagement_counts WHERE (owner_id, bucket_id, notification_id) IN (
      SELECT owner_id, bucket_id, notification_id FROM engagement_counts
      WHERE notification_id <> '' AND updated_at_ms < $1 ORDER BY updated_at_ms LIMIT $2)
    """
  static let ofCopySQL = "DELETE FROM engagement WHERE user_id = $1 AND notification_id = $2"
  static let dropCountsSQL = "DELETE FROM engagement_counts WHERE owner_id = $1 AND bucket_id = $2"

  /// Maps the first five columns of counts.
  static func counts(_ row: borrowing SQLRow) throws -> (counts: EngagementCounts, updatedMs: Int64) {
    let counts = EngagementCounts(
      receivedCount: Int32(clamping: try row.integer(0)), openedCount: Int32(clamping: try row.integer(1)),
      dismissedCount: Int32(clamping: try row.integer(2)), actedCount: Int32(clamping: try row.integer(3)))
    return (counts, try row.integer(4))
  }

  /// Maps a row of the log to a change without its counts.
  static func change(_ row: borrowing SQLRow, bucketID: String) throws -> LoggedEngagement {
    LoggedEngagement(
      sequence: try row.integer(0),
      change: EngagementChange(
        changeTime: ProtoTimestamp(millisecondsSince1970: try row.integer(5)), bucketId: bucketID,
        notificationId: try row.text(1), kind: EngagementKind(rawValue: Int32(truncatingIfNeeded: try row.integer(2))),
        actionId: try row.text(3), eventTime: ProtoTimestamp(millisecondsSince1970: try row.integer(4))))
  }

  /// Deletes reports older than `cutoffMs` and records which sequences are gone. Returns the number of rows.
  static func purge(before cutoffMs: Int64, rowsMax: Int, _ transaction: WriteTransaction) throws -> Int {
    let sequences = try transaction.query(oldSQL, [.integer(cutoffMs), .int(rowsMax)]) { try $0.integer(0) }
    for sequence in sequences { try transaction.execute(dropSQL, [.integer(sequence)]) }
    if let last = sequences.max() { try transaction.execute(purgedSQL, [.integer(last)]) }
    return sequences.count
  }
}

/// One row of the log of reports.
struct LoggedEngagement: Sendable, Hashable {
  var sequence: Int64
  var change: EngagementChange
}
