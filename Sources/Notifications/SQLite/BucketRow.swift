import CampanileAPI
import CampanileCodec
import CampanileService
import CampanileStore

/// Maps rows of `buckets`.
enum BucketRow {
  static let columns = """
    id, name, description, color, icon_url, is_orphan, created_at_ms, updated_at_ms, version, notification_count,
    unread_count, owner_id, role, share_expires_at_ms, share_count, is_muted, snoozed_until_ms, quiet_hours_json,
    max_age_days, max_count, after_read_hours, deleted_at_ms, user_id
    """
  static let insertSQL = """
    INSERT INTO buckets (\(columns))
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)
    """
  /// Writes the fields that callers can change, and the version.
  static let updateSQL = """
    UPDATE buckets SET name = $3, description = $4, color = $5, icon_url = $6, is_orphan = $7, updated_at_ms = $8,
      version = $9, is_muted = $10, snoozed_until_ms = $11, quiet_hours_json = $12, max_age_days = $13,
      max_count = $14, after_read_hours = $15
    WHERE user_id = $1 AND id = $2
    """

  static func bucket(_ row: borrowing SQLRow) throws -> Bucket {
    var bucket = Bucket()
    bucket.id = try row.text(0)
    bucket.name = try row.text(1)
    bucket.description = try row.textIfPresent(2)
    bucket.color = try row.textIfPresent(3)
    bucket.iconUrl = try row.textIfPresent(4)
    bucket.isOrphan = try row.bool(5)
    bucket.createTime = ProtoTimestamp(millisecondsSince1970: try row.integer(6))
    bucket.updateTime = ProtoTimestamp(millisecondsSince1970: try row.integer(7))
    bucket.etag = Etag.text(version: try row.integer(8))
    bucket.notificationCount = Int32(clamping: try row.integer(9))
    bucket.unreadCount = Int32(clamping: try row.integer(10))
    bucket.ownerId = try row.text(11)
    if bucket.ownerId.isEmpty { bucket.ownerId = try row.text(22) }
    bucket.role = .init(rawValue: Int32(truncatingIfNeeded: try row.integer(12)))
    bucket.shareExpireTime = try row.integerIfPresent(13).map { ProtoTimestamp(millisecondsSince1970: $0) }
    if bucket.role.includes(.admin) { bucket.shareCount = Int32(clamping: try row.integer(14)) }
    bucket.isMuted = try row.bool(15)
    bucket.snoozeEndTime = try row.integerIfPresent(16).map { ProtoTimestamp(millisecondsSince1970: $0) }
    if !row.isNull(17) {
      bucket.quietHours = try StoredJSON.message(QuietHours.self, row, 17, "quiet_hours_json")
    }
    let retention = RetentionPolicy(
      maxAgeDays: Int32(clamping: try row.integer(18)), maxCount: Int32(clamping: try row.integer(19)),
      afterReadHours: Int32(clamping: try row.integer(20)))
    if retention != RetentionPolicy() { bucket.retention = retention }
    if let deletedAtMs = try row.integerIfPresent(21) {
      bucket.deleteTime = ProtoTimestamp(millisecondsSince1970: deletedAtMs)
      bucket.purgeTime = ProtoTimestamp(millisecondsSince1970: deletedAtMs + Trash.retentionMs)
    }
    return bucket
  }

  /// The arguments of `insertSQL` for a bucket without notifications.
  static func inserting(_ bucket: Bucket, user: String) -> [SQLValue] {
    [
      .text(bucket.id), .text(bucket.name), .text(bucket.description), .text(bucket.color), .text(bucket.iconUrl),
      .bool(bucket.isOrphan), .integer(bucket.createTime?.millisecondsSince1970 ?? 0),
      .integer(bucket.updateTime?.millisecondsSince1970 ?? 0), .integer(Etag.version(bucket.etag) ?? 1),
      .integer(0), .integer(0), bucket.ownerId == user ? "" : .text(bucket.ownerId),
      .integer(Int64(bucket.role.rawValue)), .integer(bucket.shareExpireTime?.millisecondsSince1970), .integer(0),
      .bool(bucket.isMuted), .integer(bucket.snoozeEndTime?.millisecondsSince1970),
      .text(bucket.quietHours.map { $0.jsonString() }), .integer(Int64(bucket.retention?.maxAgeDays ?? 0)),
      .integer(Int64(bucket.retention?.maxCount ?? 0)), .integer(Int64(bucket.retention?.afterReadHours ?? 0)),
      .null, .text(user),
    ]
  }

  /// The arguments of `updateSQL`.
  static func updating(_ bucket: Bucket, user: String) -> [SQLValue] {
    [
      .text(user), .text(bucket.id), .text(bucket.name), .text(bucket.description), .text(bucket.color),
      .text(bucket.iconUrl), .bool(bucket.isOrphan), .integer(bucket.updateTime?.millisecondsSince1970 ?? 0),
      .integer(Etag.version(bucket.etag) ?? 1), .bool(bucket.isMuted),
      .integer(bucket.snoozeEndTime?.millisecondsSince1970), .text(bucket.quietHours.map { $0.jsonString() }),
      .integer(Int64(bucket.retention?.maxAgeDays ?? 0)), .integer(Int64(bucket.retention?.maxCount ?? 0)),
      .integer(Int64(bucket.retention?.afterReadHours ?? 0)),
    ]
  }
}

/// The retention of deleted objects, during which they can be restored.
enum Trash {
  static let retentionMs: Int64 = 30 * 24 * 3_600 * 1_000
}
