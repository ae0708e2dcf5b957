import CampanileAPI
import CampanileCodec
import CampanileStore

/// The table `login_records`: the failures of members and of unknown names.
enum LoginTable {
  /// The maximum number of unknown names. `maintain` deletes the surplus: first the unlocked names, the oldest first.
  static let unknownMax: Int64 = 20_000

  static let oneSQL = """
    SELECT in_row, total, window_start_ms, last_ms, locked_at_ms FROM login_records WHERE subject = $1
    """
  static let setSQL = """
    INSERT INTO login_records (subject, member_no, in_row, total, window_start_ms, last_ms, locked_at_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (subject) DO UPDATE SET in_row = excluded.in_row, total = excluded.total,
      window_start_ms = excluded.window_start_ms, last_ms = excluded.last_ms, locked_at_ms = excluded.locked_at_ms
    """
  static let dropSQL = "DELETE FROM login_records WHERE subject = $1"
  static let lockedSQL = "SELECT count(*) FROM login_records WHERE locked_at_ms > 0 AND member_no IS NOT NULL"
  static let unknownCountSQL = "SELECT count(*) FROM login_records WHERE member_no IS NULL"
  static let purgeUnknownSQL = """
    DELETE FROM login_records WHERE subject IN (
      SELECT subject FROM login_records WHERE member_no IS NULL AND locked_at_ms >= 0
      ORDER BY locked_at_ms, last_ms LIMIT $1)
    """

  static func record(_ row: borrowing SQLRow) throws -> LoginRecord {
    LoginRecord(
      inRow: try row.integer(0), total: try row.integer(1), windowStartMs: try row.integer(2),
      lastMs: try row.integer(3), lockedAtMs: try row.integer(4))
  }

  /// Returns the arguments of `setSQL`.
  static func values(_ record: LoginRecord, of subject: LoginSubject) -> [SQLValue] {
    [
      .text(subject.key), .integer(subject.member), .integer(record.inRow), .integer(record.total),
      .integer(record.windowStartMs), .integer(record.lastMs), .integer(record.lockedAtMs),
    ]
  }
}

/// The table `login_devices`: device tokens by their SHA-256.
enum DeviceTable {
  /// Selects the member that a token is valid for.
  static let memberSQL = """
    SELECT member_no FROM login_devices WHERE token_hash = $1 AND last_login_ms > $2 AND failures < $3
    """
  static let countFailureSQL =
    "UPDATE login_devices SET failures = failures + 1 WHERE token_hash = $1 AND failures < $2"
  static let insertSQL = """
    INSERT INTO login_devices (token_hash, member_no, created_at_ms, last_login_ms, failures)
    VALUES ($1, $2, $3, $3, 0)
    """
  static let renewSQL = "UPDATE login_devices SET last_login_ms = $2, failures = 0 WHERE token_hash = $1"
  static let ofMemberSQL = """
    SELECT member_no, created_at_ms, last_login_ms FROM login_devices WHERE member_no = $1
    ORDER BY last_login_ms DESC LIMIT $2
    """
  /// Deletes all devices of a member except one.
  static let revokeSQL = "DELETE FROM login_devices WHERE member_no = $1 AND token_hash <> $2"
  /// Deletes a member's devices except those with the latest logins.
  static let surplusSQL = """
    DELETE FROM login_devices WHERE member_no = $1 AND token_hash NOT IN (
      SELECT token_hash FROM login_devices WHERE member_no = $1 ORDER BY last_login_ms DESC LIMIT $2)
    """
  static let purgeSQL = """
    DELETE FROM login_devices WHERE token_hash IN (
      SELECT token_hash FROM login_devices WHERE last_login_ms <= $1 ORDER BY last_login_ms LIMIT $2)
    """

  static func device(_ row: borrowing SQLRow) throws -> LoginDevice {
    LoginDevice(
      memberId: AttendanceIDs.memberID(try row.integer(0)),
      createTime: ProtoTimestamp(millisecondsSince1970: try row.integer(1)),
      lastLoginTime: ProtoTimestamp(millisecondsSince1970: try row.integer(2)))
  }
}
