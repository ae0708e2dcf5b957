import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileStore

/// Maps rows to messages by hand: the column order here is that of the lists of columns.
enum Records {
  static let bucketColumns = """
    id, name, description, color, icon_url, is_orphan, created_at_ms, updated_at_ms, version, unread_count, notification_count
    """
  static let notificationColumns = """
    id, bucket_id, title, subtitle, body, priority, content, created_at_ms, updated_at_ms, read_at_ms, version
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
    bucket.etag = etag(try row.integer(8))
    bucket.unreadCount = Int32(clamping: try row.integer(9))
    bucket.notificationCount = Int32(clamping: try row.integer(10))
    return bucket
  }

  static func notification(_ row: borrowing SQLRow) throws -> Notification {
    // The lists and the tap action are kept as a message that has nothing else, so that an empty one costs nothing.
    var notification = try row.isNull(6) ? Notification() : row.withBytes(6) { try decode($0) }
    notification.id = try row.text(0)
    notification.bucketId = try row.text(1)
    notification.title = try row.text(2)
    notification.subtitle = try row.textIfPresent(3)
    notification.body = try row.textIfPresent(4)
    notification.priority = Notification.Priority(rawValue: Int32(clamping: try row.integer(5)))
    notification.createTime = ProtoTimestamp(millisecondsSince1970: try row.integer(7))
    notification.updateTime = ProtoTimestamp(millisecondsSince1970: try row.integer(8))
    notification.readTime = try row.integerIfPresent(9).map { ProtoTimestamp(millisecondsSince1970: $0) }
    notification.etag = etag(try row.integer(10))
    return notification
  }

  /// The `content` column of a notification; `nil` when it has no lists and no tap action.
  static func content(_ notification: Notification) -> String? {
    if notification.attachments.isEmpty, notification.actions.isEmpty, notification.tapAction == nil { return nil }
    var content = Notification()
    content.attachments = notification.attachments
    content.actions = notification.actions
    content.tapAction = notification.tapAction
    return content.jsonString()
  }

  static func decode<M: ProtoMessage>(_ bytes: UnsafeRawBufferPointer) throws -> M {
    var options = JSONDecodingOptions()
    options.ignoreUnknownFields = true
    do throws(ProtoJSONError) { return try M(jsonUTF8: bytes, options: options) } catch {
      throw RPCError(.dataLoss, "a stored record cannot be read: \(error.message)", reason: "RECORD_DAMAGED")
    }
  }

  static func etag(_ version: Int64) -> String { String(version, radix: 36) }
}
