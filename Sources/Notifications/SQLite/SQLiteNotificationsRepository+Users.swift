import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteNotificationsRepository {
  /// Users with their stored counts, so that nothing is counted, and their newest change.
  static let usersSQL = """
    SELECT u.user_id, u.bucket_count, u.notification_count, u.unread_count, u.scheduled_count,
      (SELECT c.at_ms FROM changes c WHERE c.user_id = u.user_id ORDER BY c.sequence DESC LIMIT 1)
    FROM users u WHERE u.user_id >= $1 AND u.user_id < $2 ORDER BY u.user_id LIMIT $3
    """

  func users(_ query: PositionQuery, prefix: String) async throws -> [NotificationUser] {
    try await readSingle { transaction in
      try transaction.query(Self.usersSQL, query.idRange(prefix: prefix)) { row in
        NotificationUser(
          userId: try row.text(0), bucketCount: try row.integer(1), notificationCount: try row.integer(2),
          unreadCount: try row.integer(3), scheduledCount: try row.integer(4),
          changeTime: try row.integerIfPresent(5).map { ProtoTimestamp(millisecondsSince1970: $0) })
      }
    }
  }
}
