import CampanileAPI
import CampanileCodec
import CampanileService
import CampanileStore

/// Statements of `members` and the mapping of its rows.
enum MemberRow {
  static let columns = """
    number, name, first_name, last_name, email, degree, office, initiation_day, passing_day, raising_day, is_active,
    role, user_id, has_pin, created_at_ms, updated_at_ms, version, erased_at_ms, refused_notices
    """
  static let insertSQL = """
    INSERT INTO members (\(columns), name_key, sequence)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
    """
  static let updateSQL = """
    UPDATE members SET name = $2, first_name = $3, last_name = $4, email = $5, degree = $6, office = $7,
      initiation_day = $8, passing_day = $9, raising_day = $10, is_active = $11, role = $12, user_id = $13,
      has_pin = $14, created_at_ms = $15, updated_at_ms = $16, version = $17, erased_at_ms = $18,
      refused_notices = $19, name_key = $20, sequence = $21
    WHERE number = $1
    """
  static let oneSQL = "SELECT \(columns) FROM members WHERE number = $1"
  static let byNameSQL = "SELECT number FROM members WHERE name_key = $1"
  static let byUserSQL = "SELECT number FROM members WHERE user_id = $1"
  static let countSQL = "SELECT count(*) FROM members"
  static let activeSQL = """
    SELECT \(columns) FROM members WHERE is_active = 1 AND name_key > $1 ORDER BY name_key LIMIT $2
    """
  static let allSQL = "SELECT \(columns) FROM members WHERE name_key > $1 ORDER BY name_key LIMIT $2"
  static let changedSQL = "SELECT sequence, \(columns) FROM members WHERE sequence > $1 ORDER BY sequence LIMIT $2"

  static func member(_ row: borrowing SQLRow) throws -> Member { try member(row, from: 0) }

  /// Decodes a member. `first` is the column of the number.
  static func member(_ row: borrowing SQLRow, from first: Int) throws -> Member {
    let number = try row.integer(first)
    return try Member(
      id: AttendanceIDs.memberID(number), number: number, name: row.text(first + 1), givenName: row.text(first + 2),
      familyName: row.text(first + 3), email: row.text(first + 4),
      degree: Degree(rawValue: Int32(truncatingIfNeeded: row.integer(first + 5))),
      office: office(row.integer(first + 6)), initiationDate: row.integerIfPresent(first + 7).map(Days.text) ?? "",
      passingDate: row.integerIfPresent(first + 8).map(Days.text) ?? "",
      raisingDate: row.integerIfPresent(first + 9).map(Days.text) ?? "", active: row.bool(first + 10),
      role: MemberRole(rawValue: Int32(truncatingIfNeeded: row.integer(first + 11))),
      userId: row.textIfPresent(first + 12) ?? "", hasPin: row.bool(first + 13),
      createTime: ProtoTimestamp(millisecondsSince1970: row.integer(first + 14)),
      updateTime: ProtoTimestamp(millisecondsSince1970: row.integer(first + 15)),
      etag: Etag.text(version: row.integer(first + 16)),
      eraseTime: row.integerIfPresent(first + 17).map { ProtoTimestamp(millisecondsSince1970: $0) },
      refusedNotices: RefusedNotices(bits: row.integer(first + 18)).kinds)
  }

  /// The column has 0 for no office.
  private static func office(_ column: Int64) -> Office {
    column == 0 ? .noneValue : Office(rawValue: Int32(truncatingIfNeeded: column))
  }

  private static func column(_ office: Office) -> Int64 { office == .noneValue ? 0 : Int64(office.rawValue) }

  /// Returns the arguments of `insertSQL` and `updateSQL`.
  static func values(_ member: Member, sequence: Int64) -> [SQLValue] {
    [
      .integer(member.number), .text(member.name), .text(member.givenName), .text(member.familyName),
      .text(member.email), .integer(Int64(member.degree.rawValue)), .integer(column(member.office)),
      .integer(Days.parse(member.initiationDate)), .integer(Days.parse(member.passingDate)),
      .integer(Days.parse(member.raisingDate)), .bool(member.active), .integer(Int64(member.role.rawValue)),
      member.userId.isEmpty ? .null : .text(member.userId), .bool(member.hasPin),
      .integer(member.createTime?.millisecondsSince1970 ?? 0), .integer(member.updateTime?.millisecondsSince1970 ?? 0),
      .integer(Etag.version(member.etag) ?? 1), .integer(member.eraseTime?.millisecondsSince1970),
      .integer(RefusedNotices(member.refusedNotices).bits), .text(MemberRules.key(of: member.name)),
      .integer(sequence),
    ]
  }
}

extension Member {
  /// The approximate size in a page.
  var sizeBytes: Int {
    500 + name.utf8.count + givenName.utf8.count + familyName.utf8.count + email.utf8.count + userId.utf8.count
  }
}
