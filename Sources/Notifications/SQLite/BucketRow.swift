import CampanileAPI
import CampanileCodec
import CampanileService
import CampanileStore

extension Bucket {
  /// The approximate size of its JSON in bytes, at which pages of buckets end.
  var sizeBytes: Int {
    let texts = [name, description ?? "", iconUrl ?? "", ownerId].reduce(0) { $0 + SummaryShaper.cost($1) }
    // A window names up to seven days.
    let windows = settings?.quietHours?.windows.reduce(0) { $0 + 48 + 26 * $1.days.count } ?? 0
    return 1_024 + texts + windows
  }
}

/// Maps rows of `buckets`.
enum BucketRow {
  static let columns = """
    id, name, description, color, icon_url, is_orphan, created_at_ms, updated_at_ms, version, notification_count,
    unread_count, owner_id, role, share_expires_at_ms, share_count, is_muted, snoozed_until_ms, quiet_hours_json,
    max_age_days, max_count, after_read_ms, settings_updated_at_ms, settings_version, deleted_at_ms, user_id
    """
  static let insertSQL = """
    INSERT INTO buckets (\(columns))
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23,
      $24, $25)
    """
  /// Writes the fields that admins can change, and the version.
  static let updateSQL = """
    UPDATE buckets SET name = $3, description = $4, color = $5, icon_url = $6, is_orphan = $7, updated_at_ms = $8,
      version = $9
    WHERE user_id = $1 AND id = $2
    """
  /// Writes the user's own settings, and both versions.
  static let updateSettingsSQL = """
    UPDATE buckets SET version = $3, is_muted = $4, snoozed_until_ms = $5, quiet_hours_json = $6, max_age_days = $7,
      max_count = $8, after_read_ms = $9, settings_updated_at_ms = $10, settings_version = $11
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
    bucket.notificationCount = Int32(clamping: try row.integer(9))
    bucket.unreadCount = Int32(clamping: try row.integer(10))
    bucket.ownerId = try row.text(11)
    if bucket.ownerId.isEmpty { bucket.ownerId = try row.text(24) }
    bucket.role = .init(rawValue: Int32(truncatingIfNeeded: try row.integer(12)))
    bucket.shareExpireTime = try row.integerIfPresent(13).map { ProtoTimestamp(millisecondsSince1970: $0) }
    // Only the owner's row counts the members.
    if bucket.role == .owner { bucket.shareCount = Int32(clamping: try row.integer(14)) }
    bucket.settings = try settings(row, of: bucket.id)
    bucket.etag = BucketEtag.text(version: try row.integer(8), bucket)
    if let deletedAtMs = try row.integerIfPresent(23) {
      bucket.deleteTime = ProtoTimestamp(millisecondsSince1970: deletedAtMs)
      bucket.purgeTime = ProtoTimestamp(millisecondsSince1970: deletedAtMs + Trash.retentionMs)
    }
    return bucket
  }

  private static func settings(_ row: borrowing SQLRow, of bucketID: String) throws -> BucketSettings {
    var settings = BucketSettings(bucketId: bucketID)
    settings.isMuted = try row.bool(15)
    settings.snoozeEndTime = try row.integerIfPresent(16).map { ProtoTimestamp(millisecondsSince1970: $0) }
    if !row.isNull(17) {
      settings.quietHours = try StoredJSON.message(QuietHours.self, row, 17, "quiet_hours_json")
    }
    var retention = RetentionPolicy(
      maxAgeDays: Int32(clamping: try row.integer(18)), maxCount: Int32(clamping: try row.integer(19)))
    let afterReadMs = try row.integer(20)
    if afterReadMs > 0 { retention.afterRead = ProtoDuration(milliseconds: afterReadMs) }
    if retention != RetentionPolicy() { settings.retention = retention }
    settings.updateTime = try row.integerIfPresent(21).map { ProtoTimestamp(millisecondsSince1970: $0) }
    settings.etag = Etag.text(version: try row.integer(22))
    return settings
  }

  /// The arguments of `insertSQL` for a bucket without notifications.
  static func inserting(_ bucket: Bucket, user: String) -> [SQLValue] {
    let settings = bucket.settings ?? BucketSettings()
    return [
      .text(bucket.id), .text(bucket.name), .text(bucket.description), .text(bucket.color), .text(bucket.iconUrl),
      .bool(bucket.isOrphan), .integer(bucket.createTime?.millisecondsSince1970 ?? 0),
      .integer(bucket.updateTime?.millisecondsSince1970 ?? 0), .integer(BucketEtag.version(bucket.etag) ?? 1),
      .integer(0), .integer(0), bucket.ownerId == user ? "" : .text(bucket.ownerId),
      .integer(Int64(bucket.role.rawValue)), .integer(bucket.shareExpireTime?.millisecondsSince1970), .integer(0),
    ] + columns(settings) + [.null, .text(user)]
  }

  /// The arguments of `updateSQL`.
  static func updating(_ bucket: Bucket, user: String) -> [SQLValue] {
    [
      .text(user), .text(bucket.id), .text(bucket.name), .text(bucket.description), .text(bucket.color),
      .text(bucket.iconUrl), .bool(bucket.isOrphan), .integer(bucket.updateTime?.millisecondsSince1970 ?? 0),
      .integer(BucketEtag.version(bucket.etag) ?? 1),
    ]
  }

  /// The arguments of `updateSettingsSQL`.
  static func updating(_ settings: BucketSettings, of bucket: Bucket, user: String) -> [SQLValue] {
    [.text(user), .text(bucket.id), .integer(BucketEtag.version(bucket.etag) ?? 1)] + columns(settings)
  }

  /// The columns from `is_muted` to `settings_version`.
  private static func columns(_ settings: BucketSettings) -> [SQLValue] {
    [
      .bool(settings.isMuted), .integer(settings.snoozeEndTime?.millisecondsSince1970),
      .text(settings.quietHours.map { $0.jsonString() }), .integer(Int64(settings.retention?.maxAgeDays ?? 0)),
      .integer(Int64(settings.retention?.maxCount ?? 0)),
      .integer(settings.retention?.afterRead?.milliseconds ?? 0),
      .integer(settings.updateTime?.millisecondsSince1970), .integer(Etag.version(settings.etag) ?? 1),
    ]
  }
}

/// Etags of buckets. They contain the version and the counts, so that equal etags mean equal buckets.
enum BucketEtag {
  static func text(version: Int64, _ bucket: Bucket) -> String {
    let counts = [bucket.notificationCount, bucket.unreadCount, bucket.shareCount ?? 0]
    return Etag.text(version: version) + counts.map { ".\($0)" }.joined()
  }

  /// Returns the version inside an etag, or nil for other texts.
  static func version(_ etag: String) -> Int64? { Etag.version(String(etag.prefix { $0 != "." })) }

  /// Whether a request's etag allows a change; an empty one always does. Counts are ignored, because notifications
  /// that arrive in the meantime do not conflict with a change of the bucket.
  static func allows(_ etag: String, _ bucket: Bucket) -> Bool {
    etag.isEmpty || version(etag) == version(bucket.etag)
  }
}

/// The retention of deleted objects, during which they can be restored.
enum Trash {
  static let retentionMs: Int64 = 30 * 24 * 3_600 * 1_000
}
