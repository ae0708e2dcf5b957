import CampanileAPI
import CampanileCodec
import CampanileStore

/// Statements of `sessions` and `pins`, and the mapping of their rows.
enum SessionTable {
  static let insertSQL = """
    INSERT INTO sessions (token_hash, id, member_no, created_at_ms, expires_at_ms, ends_at_ms, address)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    """
  static let callerSQL = """
    SELECT s.member_no, s.expires_at_ms, m.role, m.is_active FROM sessions AS s JOIN members AS m
      ON m.number = s.member_no
    WHERE s.token_hash = $1
    """
  private static let columns = "id, member_no, created_at_ms, expires_at_ms, ends_at_ms, address"
  static let oneSQL = "SELECT \(columns) FROM sessions WHERE token_hash = $1"
  static let ofMemberSQL = """
    SELECT \(columns) FROM sessions WHERE member_no = $1 AND id < $2 ORDER BY id DESC LIMIT $3
    """
  /// A text after every id, which has letters, digits and `_`.
  static let afterAllIDs = "~"
  static let renewSQL = "UPDATE sessions SET expires_at_ms = $2 WHERE token_hash = $1"
  static let logoutSQL = "DELETE FROM sessions WHERE token_hash = $1"
  /// Deletes all sessions of a member except one.
  static let revokeSQL = "DELETE FROM sessions WHERE member_no = $1 AND token_hash <> $2"
  /// Deletes a member's sessions except the newest.
  static let surplusSQL = """
    DELETE FROM sessions WHERE member_no = $1
      AND id NOT IN (SELECT id FROM sessions WHERE member_no = $1 ORDER BY id DESC LIMIT $2)
    """
  static let purgeSQL = """
    DELETE FROM sessions WHERE token_hash IN (
      SELECT token_hash FROM sessions WHERE expires_at_ms < $1 ORDER BY expires_at_ms LIMIT $2)
    """
  static let pinSQL = "SELECT hash FROM pins WHERE member_no = $1"
  static let setPinSQL = """
    INSERT INTO pins (member_no, hash, set_at_ms) VALUES ($1, $2, $3)
    ON CONFLICT (member_no) DO UPDATE SET hash = excluded.hash, set_at_ms = excluded.set_at_ms
    """
  static let dropPinSQL = "DELETE FROM pins WHERE member_no = $1"

  static func session(_ row: borrowing SQLRow) throws -> MemberSession {
    MemberSession(
      id: try row.text(0), memberId: AttendanceIDs.memberID(try row.integer(1)),
      createTime: ProtoTimestamp(millisecondsSince1970: try row.integer(2)),
      expireTime: ProtoTimestamp(millisecondsSince1970: try row.integer(3)),
      endTime: ProtoTimestamp(millisecondsSince1970: try row.integer(4)), address: try row.text(5))
  }
}
