import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Blocked users: their invitations are not shown to the user who blocked them.
extension SQLiteNotificationsRepository {
  static let isBlockedSQL = "SELECT 1 FROM blocked_users WHERE user_id = $1 AND blocked_id IN ($2, $3)"
  static let blockSQL = """
    INSERT INTO blocked_users (user_id, blocked_id, created_at_ms) VALUES ($1, $2, $3)
    """
  static let blockedCountSQL = "SELECT count(*) FROM blocked_users WHERE user_id = $1"
  static let unblockSQL = "DELETE FROM blocked_users WHERE user_id = $1 AND blocked_id = $2"
  static let blockedSQL = """
    SELECT blocked_id, created_at_ms FROM blocked_users
    WHERE user_id = $1 AND blocked_id > $2 ORDER BY blocked_id LIMIT $3
    """
  static let hideSQL = """
    UPDATE invitations SET is_hidden = 1
    WHERE user_id = $1 AND state = 1 AND is_hidden = 0 AND (owner_id = $2 OR inviter_id = $2)
    """

  func isBlocked(_ one: String, or other: String, by user: String, _ transaction: ReadTransaction) throws -> Bool {
    try transaction.queryOne(Self.isBlockedSQL, [.text(user), .text(one), .text(other)], { _ in true }) != nil
  }

  func block(_ other: String, by user: String) async throws {
    try await write { transaction in
      guard try !isBlocked(other, or: other, by: user, transaction) else { return }
      let count = try transaction.queryOne(Self.blockedCountSQL, [.text(user)]) { try $0.integer(0) } ?? 0
      guard count < Int64(limits.blockedUsersPerUserMax) else {
        throw RPCError.blockedUsersExhausted(limits)
      }
      try transaction.execute(Self.blockSQL, [.text(user), .text(other), .integer(clockMs())])
      try transaction.execute(Self.hideSQL, [.text(user), .text(other)])
    }
  }

  func unblock(_ other: String, by user: String) async throws {
    try await write { transaction in
      _ = try transaction.executeCounting(Self.unblockSQL, [.text(user), .text(other)])
    }
  }

  func blockedUsers(_ query: PositionQuery) async throws -> [BlockedUser] {
    try await readSingle { transaction in
      try transaction.query(
        Self.blockedSQL, [.text(query.user), .text(query.position.first ?? ""), .int(query.pageSize + 1)],
        TransferRows.blockedUser)
    }
  }
}
