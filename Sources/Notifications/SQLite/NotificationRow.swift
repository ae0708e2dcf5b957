import CampanileAPI
import CampanileCodec
import CampanileService
import CampanileStore

/// A notification as stored, and the numbers of its etag and its creation time.
struct StoredNotification: Sendable, Hashable {
  var message: Notification
  var version: Int64
  var createdAtMs: Int64
}

extension Notification {
  /// The approximate size of its JSON in bytes, at which pages of notifications end.
  var sizeBytes: Int {
    // Ids, times and numbers.
    var size = 1_024 + SummaryShaper.cost(title) + SummaryShaper.cost(sound) + SummaryShaper.cost(threadId)
    size += SummaryShaper.cost(subtitle ?? "") + SummaryShaper.cost(body ?? "")
    for attachment in attachments {
      size += 256 + SummaryShaper.cost(attachment.url) + SummaryShaper.cost(attachment.name)
    }
    for action in actions { size += action.sizeBytes }
    return size + (tapAction?.sizeBytes ?? 0)
  }
}

extension Action {
  fileprivate var sizeBytes: Int {
    128 + SummaryShaper.cost(value) + SummaryShaper.cost(title) + SummaryShaper.cost(icon)
  }
}

/// Maps rows of `notifications`.
enum NotificationRow {
  static let columns = """
    id, bucket_id, title, subtitle, body, priority, content_json, created_at_ms, updated_at_ms, read_at_ms, sent_at_ms,
    version, expires_at_ms, collapse_key, delivery_state, release_at_ms, repeat_json, send_count
    """
  static let insertSQL = """
    INSERT INTO notifications (user_id, \(columns))
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
    """
  /// Writes every column. Takes the arguments of `insertSQL`.
  static let updateSQL = """
    UPDATE notifications SET bucket_id = $3, title = $4, subtitle = $5, body = $6, priority = $7, content_json = $8,
      created_at_ms = $9, updated_at_ms = $10, read_at_ms = $11, sent_at_ms = $12, version = $13, expires_at_ms = $14,
      collapse_key = $15, delivery_state = $16, release_at_ms = $17, repeat_json = $18, send_count = $19
    WHERE user_id = $1 AND id = $2
    """

  static func notification(_ row: borrowing SQLRow) throws -> Notification {
    var notification =
      row.isNull(6) ? Notification() : try StoredJSON.message(Notification.self, row, 6, "content_json")
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
    notification.expireTime = try row.integerIfPresent(12).map { ProtoTimestamp(millisecondsSince1970: $0) }
    if !row.isNull(13) { notification.collapseKey = try row.text(13) }
    notification.deliveryState = .init(rawValue: Int32(truncatingIfNeeded: try row.integer(14)))
    notification.releaseTime = try row.integerIfPresent(15).map { ProtoTimestamp(millisecondsSince1970: $0) }
    if !row.isNull(16) { notification.`repeat` = try StoredJSON.message(Repeat.self, row, 16, "repeat_json") }
    notification.sendCount = Int32(truncatingIfNeeded: try row.integer(17))
    return notification
  }

  static func stored(_ row: borrowing SQLRow) throws -> StoredNotification {
    StoredNotification(
      message: try notification(row), version: try row.integer(11), createdAtMs: try row.integer(7))
  }

  /// The arguments of both statements.
  static func arguments(_ notification: Notification, version: Int64, user: String) -> [SQLValue] {
    [
      .text(user), .text(notification.id), .text(notification.bucketId), .text(notification.title),
      .text(notification.subtitle), .text(notification.body), .integer(Int64(notification.priority.rawValue)),
      .text(contentJSON(notification)), .integer(notification.createTime?.millisecondsSince1970 ?? 0),
      .integer(notification.updateTime?.millisecondsSince1970 ?? 0),
      .integer(notification.readTime?.millisecondsSince1970), .integer(notification.sendTime?.millisecondsSince1970),
      .integer(version), .integer(notification.expireTime?.millisecondsSince1970),
      notification.collapseKey.isEmpty ? .null : .text(notification.collapseKey),
      .integer(Int64(notification.deliveryState.rawValue)), .integer(notification.releaseTime?.millisecondsSince1970),
      .text(notification.`repeat`.map { $0.jsonString() }), .integer(Int64(notification.sendCount)),
    ]
  }

  /// The fields without a column of their own, as the ProtoJSON of an otherwise empty notification; nil if there are
  /// none.
  private static func contentJSON(_ notification: Notification) -> String? {
    let content = Notification(
      attachments: notification.attachments, actions: notification.actions, tapAction: notification.tapAction,
      sound: notification.sound, threadId: notification.threadId)
    return content == Notification() ? nil : content.jsonString()
  }
}
