import CampanileAPI
import CampanileCodec
import CampanileStore

/// The table `changes`. Sequences ascend without gaps in the order of the commits, because one writer hands them out
/// inside its transactions; so a reader that has seen a sequence has seen all before it.
enum ChangeLog {
  static let columns = "sequence, kind, bucket_id, notification_id, previous_bucket_id, at_ms, payload"
  static let lastSQL = "SELECT coalesce(max(sequence), 0) FROM changes"
  static let firstSQL = "SELECT coalesce(min(sequence), 0) FROM changes"
  static let compactedSQL = "SELECT compacted_through FROM users WHERE user_id = $1"
  static let ofUserSQL = """
    SELECT \(columns) FROM changes WHERE user_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3
    """
  static let ofBucketSQL = """
    SELECT sequence FROM changes
    WHERE user_id = $1 AND sequence > $2 AND (bucket_id = $3 OR previous_bucket_id = $3) LIMIT 1
    """
  static let insertSQL = """
    INSERT INTO changes (sequence, user_id, kind, bucket_id, notification_id, previous_bucket_id, at_ms, payload)
    VALUES ((SELECT coalesce(max(sequence), 0) + 1 FROM changes), $1, $2, $3, $4, $5, $6, $7)
    """

  static func change(_ row: borrowing SQLRow) throws -> Change {
    guard let kind = Change.Kind(rawValue: try row.integer(1)) else {
      throw StoreError(.corrupt, "the change log holds an unknown kind")
    }
    return Change(
      sequence: try row.integer(0), kind: kind, bucketID: try row.text(2), notificationID: try row.text(3),
      previousBucketID: try row.textIfPresent(4), timeMs: try row.integer(5), payload: try row.bytes(6))
  }
}

extension WriteTransaction {
  func log(_ kind: Change.Kind, _ notification: Notification, movedFrom: String? = nil, atMs: Int64, user: String)
    throws
  {
    try execute(
      ChangeLog.insertSQL,
      [
        .text(user), .integer(kind.rawValue), .text(notification.bucketId), .text(notification.id), .text(movedFrom),
        .integer(atMs), .blob(notification.jsonUTF8Bytes()),
      ])
  }

  func log(_ kind: Change.Kind, _ bucket: Bucket, atMs: Int64, user: String) throws {
    try execute(
      ChangeLog.insertSQL,
      [
        .text(user), .integer(kind.rawValue), .text(bucket.id), "", .null, .integer(atMs),
        .blob(bucket.jsonUTF8Bytes()),
      ])
  }

  /// A deletion, of a notification or (with an empty `notificationID`) of a bucket.
  func logDeletion(bucketID: String, notificationID: String, atMs: Int64, user: String) throws {
    let kind: Change.Kind = notificationID.isEmpty ? .bucketDeleted : .notificationDeleted
    try execute(
      ChangeLog.insertSQL,
      [
        .text(user), .integer(kind.rawValue), .text(bucketID), .text(notificationID), .null, .integer(atMs),
        .blob([]),
      ])
  }
}
