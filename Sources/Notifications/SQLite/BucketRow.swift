import CampanileAPI
import CampanileCodec
import CampanileStore

/// Maps rows of `buckets`.
enum BucketRow {
  static let columns = """
    id, name, description, color, icon_url, is_orphan, created_at_ms, updated_at_ms, version, notification_count,
    unread_count
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
    return bucket
  }
}
