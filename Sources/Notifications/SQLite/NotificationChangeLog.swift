import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// The table `changes`.
///
/// Sequences ascend without gaps in commit order, because a single writer assigns them inside its transactions. A
/// reader that has seen a sequence has therefore seen all earlier ones.
///
/// A row records what changed, not the content of the notification or bucket. Readers load that from its own table, so
/// that nothing is written twice. They skip an object that no longer exists, because its deletion follows in the log.
enum NotificationChangeLog {
  static let columns = "sequence, kind, bucket_id, notification_id, previous_bucket_id, at_ms, is_alert"
  static let lastSQL = ChangeLogTable.lastSQL
  static let firstSQL = ChangeLogTable.firstSQL
  static let compactedSQL = ChangeLogTable.compactedSQL
  static let ofUserSQL = """
    SELECT \(columns) FROM changes WHERE user_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3
    """
  static let ofBucketSQL = """
    SELECT sequence FROM changes
    WHERE user_id = $1 AND sequence > $2 AND (bucket_id = $3 OR previous_bucket_id = $3) LIMIT 1
    """
  static let insertSQL = """
    INSERT INTO changes (sequence, user_id, kind, bucket_id, notification_id, previous_bucket_id, at_ms, is_alert, trace)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    """

  /// Maps a row, without the object that it refers to.
  static func change(_ row: borrowing SQLRow) throws -> LoggedChange {
    guard let kind = LoggedChange.Kind(rawValue: try row.integer(1)) else {
      throw StoreError(.corrupt, "the change log contains an unknown kind")
    }
    return LoggedChange(
      sequence: try row.integer(0), kind: kind, bucketID: try row.text(2), notificationID: try row.text(3),
      previousBucketID: try row.textIfPresent(4), timeMs: try row.integer(5), isAlert: try row.bool(6))
  }
}

extension WriteTransaction {
  /// Logs a change of a bucket.
  func log(
    _ kind: LoggedChange.Kind, bucketID: String, atMs: Int64, user: String, _ notifier: CommitNotifier
  ) throws {
    try log(kind, bucketID: bucketID, notificationID: "", atMs: atMs, user: user, notifier)
  }

  /// Logs the deletion of a notification or, with an empty `notificationID`, of a bucket.
  func logDeletion(
    bucketID: String, notificationID: String, atMs: Int64, user: String, _ notifier: CommitNotifier
  ) throws {
    try log(
      notificationID.isEmpty ? .bucketDeleted : .notificationDeleted, bucketID: bucketID,
      notificationID: notificationID, atMs: atMs, user: user, notifier)
  }

  /// Appends a change and marks its user for notification after the commit.
  func log(
    _ kind: LoggedChange.Kind, bucketID: String, notificationID: String, movedFrom: String? = nil,
    isAlert: Bool = false, atMs: Int64, user: String, _ notifier: CommitNotifier
  ) throws {
    try notifier.log(user, atMs: atMs, self) { sequence, atMs in
      try execute(
        NotificationChangeLog.insertSQL,
        [
          .integer(sequence), .text(user), .integer(kind.rawValue), .text(bucketID), .text(notificationID),
          .text(movedFrom), .integer(atMs), .bool(isAlert),
          // Only alerts are sent to another service one by one.
          .text(isAlert ? CallScope.trace?.text : nil),
        ])
    }
  }
}
