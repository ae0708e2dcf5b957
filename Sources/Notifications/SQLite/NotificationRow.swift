import CampanileAPI
import CampanileCodec
import CampanileStore

/// Maps rows of `notifications`.
enum NotificationRow {
  static let columns = """
    id, bucket_id, title, subtitle, body, priority, content_json, created_at_ms, updated_at_ms, read_at_ms, sent_at_ms,
    version
    """

  static func notification(_ row: borrowing SQLRow) throws -> Notification {
    var notification = Notification()
    if !row.isNull(6) { try row.withBytes(6) { notification = try content($0) } }
    notification.id = try row.text(0)
    notification.bucketId = try row.text(1)
    notification.title = try row.text(2)
    notification.subtitle = try row.textIfPresent(3)
    notification.body = try row.textIfPresent(4)
    notification.priority = .init(rawValue: Int32(truncatingIfNeeded: try row.integer(5)))
    notification.createTime = ProtoTimestamp(millisecondsSince1970: try row.integer(7))
    notification.updateTime = ProtoTimestamp(millisecondsSince1970: try row.integer(8))
    notification.readTime = try row.integerIfPresent(9).map { ProtoTimestamp(millisecondsSince1970: $0) }
    notification.sendTime = try row.integerIfPresent(10).map { ProtoTimestamp(millisecondsSince1970: $0) }
    notification.etag = Etag.text(version: try row.integer(11))
    return notification
  }

  /// Attachments, actions and tap action as the ProtoJSON of a notification that has nothing else; nil for none.
  static func contentJSON(_ notification: Notification) -> String? {
    if notification.attachments.isEmpty, notification.actions.isEmpty, notification.tapAction == nil { return nil }
    var content = Notification()
    content.attachments = notification.attachments
    content.actions = notification.actions
    content.tapAction = notification.tapAction
    return content.jsonString()
  }

  private static func content(_ bytes: UnsafeRawBufferPointer) throws -> Notification {
    do throws(ProtoJSONError) {
      return try Notification(jsonUTF8: bytes, options: .init(ignoreUnknownFields: true))
    } catch {
      throw StoreError(.corrupt, "content_json of a notification cannot be read: \(error.reason)")
    }
  }
}
