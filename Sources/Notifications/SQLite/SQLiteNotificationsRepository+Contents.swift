import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService
import CampanileStore

/// Inline media. Equal media are stored once for all users, as long as a notification refers to them.
extension SQLiteNotificationsRepository {
  static let contentSQL = """
    SELECT c.data FROM content_refs r JOIN contents c ON c.content_id = r.content_id
    WHERE r.user_id = $1 AND r.notification_id = $2 AND r.content_id = $3
    """
  static let contentUsedSQL = "SELECT 1 FROM content_refs WHERE content_id = $1 LIMIT 1"

  func keep(_ content: InlineContent, _ transaction: WriteTransaction) throws {
    try transaction.execute(
      "INSERT INTO contents (content_id, data) VALUES ($1, $2) ON CONFLICT (content_id) DO NOTHING",
      [.text(content.id), .blob(content.data)])
  }

  func reference(_ notification: Notification, user: String, _ transaction: WriteTransaction) throws {
    for attachment in notification.attachments where !attachment.contentId.isEmpty {
      try transaction.execute(
        """
        INSERT INTO content_refs (user_id, notification_id, content_id) VALUES ($1, $2, $3)
        ON CONFLICT (user_id, notification_id, content_id) DO NOTHING
        """, [.text(user), .text(notification.id), .text(attachment.contentId)])
    }
  }

  /// Removes a notification's references to its media, except those that `new` also has. Media without references are
  /// deleted.
  func dropContents(
    of old: Notification, keeping new: Notification? = nil, user: String, _ transaction: WriteTransaction
  ) throws {
    for attachment in old.attachments where !attachment.contentId.isEmpty {
      let id = attachment.contentId
      if let new, new.attachments.contains(where: { $0.contentId == id }) { continue }
      try transaction.execute(
        "DELETE FROM content_refs WHERE user_id = $1 AND notification_id = $2 AND content_id = $3",
        [.text(user), .text(old.id), .text(id)])
      if try transaction.queryOne(Self.contentUsedSQL, [.text(id)], { _ in true }) == nil {
        try transaction.execute("DELETE FROM contents WHERE content_id = $1", [.text(id)])
      }
    }
  }

  func content(_ contentID: String, of notificationID: String, user: String) async throws -> [UInt8] {
    let data = try await readSingle {
      try $0.queryOne(Self.contentSQL, [.text(user), .text(notificationID), .text(contentID)]) { try $0.bytes(0) }
    }
    guard let data else { throw RPCError.contentNotFound(contentID, field: "contentId") }
    return data
  }
}
