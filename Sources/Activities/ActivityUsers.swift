import CampanileAPI
import CampanileCodec
import CampanileService
import CampanileStore

/// The list of users for operators. Their counts are stored, so nothing is counted.
enum ActivityUsers {
  static let listSQL = """
    SELECT u.user_id, u.activity_count, u.token_count,
      (SELECT c.at_ms FROM changes c WHERE c.user_id = u.user_id ORDER BY c.sequence DESC LIMIT 1)
    FROM users u WHERE u.user_id >= $1 AND u.user_id < $2 ORDER BY u.user_id LIMIT $3
    """

  static func list(_ query: PositionQuery, prefix: String, in transaction: ReadTransaction) throws -> [ActivityUser] {
    try transaction.query(listSQL, query.idRange(prefix: prefix)) { row in
      ActivityUser(
        userId: try row.text(0), activityCount: try row.integer(1), tokenCount: try row.integer(2),
        changeTime: try row.integerIfPresent(3).map { ProtoTimestamp(millisecondsSince1970: $0) })
    }
  }
}
