import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteSyncRepository {
  /// Users with their stored counts, so that nothing is counted. A user has at most 100 zones.
  static let usersSQL = """
    SELECT u.user_id, u.zone_count, u.device_count, u.upload_count, u.used_bytes,
      (SELECT max(z.updated_at_ms) FROM zones z WHERE z.user_id = u.user_id)
    FROM users u WHERE u.user_id >= $1 AND u.user_id < $2 ORDER BY u.user_id LIMIT $3
    """

  func users(_ query: PositionQuery, prefix: String) async throws -> [SyncUser] {
    try await readSingle { transaction in
      try transaction.query(Self.usersSQL, query.idRange(prefix: prefix)) { row in
        SyncUser(
          userId: try row.text(0), zoneCount: try row.integer(1), deviceCount: try row.integer(2),
          uploadCount: try row.integer(3), usedBytes: try row.integer(4),
          changeTime: try row.integerIfPresent(5).map { ProtoTimestamp(millisecondsSince1970: $0) })
      }
    }
  }
}
