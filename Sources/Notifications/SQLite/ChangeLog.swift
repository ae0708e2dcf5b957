import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// The table `changes`. Sequences ascend without gaps in the order of the commits, because one writer hands them out
/// inside its transactions; so a reader that has seen a sequence has seen all before it.
///
/// A row says what changed, not how a notification looks: readers take that from `notifications`, so that writers do not
/// write everything twice. One that is gone by then is passed over, since its deletion follows.
enum ChangeLog {
  static let columns = "sequence, kind, bucket_id, notification_id, previous_bucket_id, at_ms, is_alert, payload"
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
    INSERT INTO changes (sequence, user_id, kind, bucket_id, notification_id, previous_bucket_id, at_ms, is_alert, payload,
      trace)
    VALUES ((SELECT coalesce(max(sequence), 0) + 1 FROM changes), $1, $2, $3, $4, $5, $6, $7, $8, $9)
    """

  /// The row without the notification that it is about.
  static func change(_ row: borrowing SQLRow) throws -> Change {
    guard let kind = Change.Kind(rawValue: try row.integer(1)) else {
      throw StoreError(.corrupt, "the change log holds an unknown kind")
    }
    return Change(
      sequence: try row.integer(0), kind: kind, bucketID: try row.text(2), notificationID: try row.text(3),
      previousBucketID: try row.textIfPresent(4), timeMs: try row.integer(5), isAlert: try row.bool(6),
      payload: try row.bytes(7))
  }
}

extension WriteTransaction {
  func log(
    _ kind: Change.Kind, _ notification: Notification, movedFrom: String? = nil, isAlert: Bool = false, atMs: Int64,
    user: String, _ board: CommitBoard
  ) throws {
    try log(
      kind, bucketID: notification.bucketId, notificationID: notification.id, movedFrom: movedFrom, isAlert: isAlert,
      atMs: atMs, user: user, board)
  }

  func log(_ kind: Change.Kind, _ bucket: Bucket, atMs: Int64, user: String, _ board: CommitBoard) throws {
    try log(
      kind, bucketID: bucket.id, notificationID: "", payload: bucket.jsonUTF8Bytes(), atMs: atMs, user: user, board)
  }

  /// A deletion, of a notification or (with an empty `notificationID`) of a bucket.
  func logDeletion(
    bucketID: String, notificationID: String, atMs: Int64, user: String, _ board: CommitBoard
  ) throws {
    try log(
      notificationID.isEmpty ? .bucketDeleted : .notificationDeleted, bucketID: bucketID,
      notificationID: notificationID, atMs: atMs, user: user, board)
  }

  /// Adds to the log and notes on the board whose it is.
  func log(
    _ kind: Change.Kind, bucketID: String, notificationID: String, movedFrom: String? = nil, isAlert: Bool = false,
    payload: [UInt8] = [], atMs: Int64, user: String, _ board: CommitBoard
  ) throws {
    try execute(
      ChangeLog.insertSQL,
      [
        .text(user), .integer(kind.rawValue), .text(bucketID), .text(notificationID), .text(movedFrom),
        .integer(atMs), .bool(isAlert), .blob(payload),
        // Only an alert is told to another service one by one.
        .text(isAlert ? CallScope.trace?.text : nil),
      ])
    board.changed(user)
  }
}
