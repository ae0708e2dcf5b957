import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// The decoded rows of a file, in the order of the file.
struct ImportRows: Sendable, Hashable {
  enum Content: Sendable, Hashable {
    /// `id` 0: the member with the name, or a new one. Only `fields` are copied. `isActive` nil leaves the state
    /// unchanged.
    case member(Member, fields: [MemberField], isActive: Bool?)
    /// `id` 0: the meeting with the start time and discussion, or a new one.
    case meeting(Meeting, fields: [MeetingField])
    case attendance(MemberName, MeetingName, AttendanceStatus)
  }

  /// A row's reference to a member: by number, or by the key of the name.
  enum MemberName: Sendable, Hashable {
    case number(Int64)
    case key(String)
  }

  /// A row's reference to a meeting.
  enum MeetingName: Sendable, Hashable {
    case number(Int64)
    case startMs(Int64)
  }

  struct Row: Sendable, Hashable {
    var number: Int32
    var content: Content
  }

  var rows: [Row] = []
  var errors: [CsvError] = []
  private(set) var errorCount: Int32 = 0

  static let errorsMax = 100

  mutating func add(_ error: CsvError) {
    errorCount += 1
    if errors.count < Self.errorsMax { errors.append(error) }
  }
}

/// Decodes rows by the names of their columns, in either language.
struct ImportReader {
  private let table: CsvTable
  private let columns: [String]
  private(set) var result = ImportRows()

  static func columns(of table: CsvTable) -> (all: [String], required: [String]) {
    switch table {
    case .members:
      (
        [
          "id", "name", "first_name", "last_name", "email", "degree", "office", "initiation_date", "passing_date",
          "raising_date", "active", "role", "user_id",
        ], ["name"]
      )
    case .meetings:
      (
        [
          "id", "start_time", "time_zone", "discussion", "type", "status", "location", "has_dinner",
          "introduced_by", "notes", "cover_image_url",
        ], ["start_time", "discussion"]
      )
    default: (["member_id", "member_name", "meeting_id", "meeting_start_time", "status"], ["status"])
    }
  }

  init(_ text: CsvTableText, table: CsvTable) {
    self.table = table
    columns = text.header.map(CsvColumns.english(_:))
    let known = Self.columns(of: table)
    for (index, name) in columns.enumerated() {
      let shown = String(name.unicodeScalars.prefix(64))
      if !known.all.contains(name) {
        result.add(.of(row: 1, column: shown, reason: "COLUMN_UNKNOWN", "unknown column"))
      } else if columns.firstIndex(of: name) != index {
        result.add(.of(row: 1, column: shown, reason: "COLUMN_REPEATED", "duplicate column"))
      }
    }
    for name in known.required where !columns.contains(name) {
      result.add(.of(row: 1, column: name, reason: "COLUMN_MISSING", "the column is required"))
    }
    if table == .attendance {
      for (one, other) in [("member_id", "member_name"), ("meeting_id", "meeting_start_time")]
      where !columns.contains(one) && !columns.contains(other) {
        result.add(.of(row: 1, column: one, reason: "COLUMN_MISSING", "this column or \(other) is required"))
      }
    }
    // Rows under invalid columns would only repeat the error.
    guard result.errors.isEmpty else { return }
    for row in text.rows { read(row) }
  }

  private mutating func read(_ row: CsvTableText.Row) {
    guard row.cells.count == columns.count else {
      return result.add(
        .of(
          row: row.number, reason: "CELL_COUNT", "the row has \(row.cells.count) cells; expected \(columns.count)"))
    }
    var cells = Cells(row: row.number, values: [:])
    for (name, cell) in zip(columns, row.cells) { cells.values[name] = cell }
    let content: ImportRows.Content? =
      switch table {
      case .members: cells.member()
      case .meetings: cells.meeting()
      default: cells.attendance()
      }
    for error in cells.errors { result.add(error) }
    if cells.errors.isEmpty, let content { result.rows.append(.init(number: row.number, content: content)) }
  }
}

/// The cells of one row by column, and their errors.
private struct Cells {
  let row: Int32
  var values: [String: String]
  private(set) var errors: [CsvError] = []

  init(row: Int32, values: [String: String]) {
    self.row = row
    self.values = values
  }

  private mutating func fail(_ column: String, _ reason: String, _ message: String) {
    errors.append(.of(row: row, column: column, reason: reason, message))
  }

  /// Returns the value of a word; nil if the cell is empty. Records an error for an unknown word.
  private mutating func word<V>(_ column: String, _ vocabulary: CsvVocabulary<V>) -> V? {
    guard let cell = values[column], !cell.isEmpty else { return nil }
    if let value = vocabulary.value(cell) { return value }
    fail(column, "WORD_UNKNOWN", "must be one of " + vocabulary.words.map(\.english).joined(separator: ", "))
    return nil
  }

  private mutating func time(_ column: String) -> ProtoTimestamp? {
    guard let cell = values[column], !cell.isEmpty else { return nil }
    if let time = CsvWords.time(cell) { return time }
    fail(column, "TIME_INVALID", "must be a time such as 2025-11-25T18:30:00Z")
    return nil
  }

  /// Records violations as errors of the columns they concern.
  private mutating func take(_ violations: Violations) {
    for item in violations.items {
      let name = String(item.field.split(separator: ".").last ?? "")
      fail(CsvColumns.column(of: name), item.reason, item.description)
    }
  }

  mutating func member() -> ImportRows.Content? {
    var member = Member()
    if let id = values["id"], !id.isEmpty {
      guard let number = AttendanceIDs.member(id) else {
        fail("id", Reason.memberNotFound.rawValue, "no such member")
        return nil
      }
      member.number = number
    }
    member.name = values["name"] ?? ""
    member.givenName = values["first_name"] ?? ""
    member.familyName = values["last_name"] ?? ""
    member.email = values["email"] ?? ""
    member.degree = word("degree", CsvWords.degrees) ?? .unspecified
    member.office = word("office", CsvWords.offices) ?? .unspecified
    member.initiationDate = values["initiation_date"] ?? ""
    member.passingDate = values["passing_date"] ?? ""
    member.raisingDate = values["raising_date"] ?? ""
    member.role = word("role", CsvWords.roles) ?? .unspecified
    member.userId = values["user_id"] ?? ""
    let isActive = word("active", CsvWords.booleans)
    let fields = MemberField.allCases.filter { values[CsvColumns.column(of: $0.jsonName)] != nil }
    var violations = Violations()
    member.validate("", fields: fields.map(\.jsonName), into: &violations)
    for field in fields { MemberRules.check(field, of: member, "", &violations) }
    take(violations)
    return .member(member, fields: fields, isActive: isActive)
  }

  mutating func meeting() -> ImportRows.Content? {
    var meeting = Meeting()
    if let id = values["id"], !id.isEmpty {
      guard let number = AttendanceIDs.meeting(id) else {
        fail("id", Reason.meetingNotFound.rawValue, "no such meeting")
        return nil
      }
      meeting.number = number
    }
    let hasStart = values["start_time"]?.isEmpty == false
    meeting.startTime = time("start_time")
    meeting.timeZone = values["time_zone"] ?? ""
    meeting.discussion = values["discussion"] ?? ""
    meeting.type = word("type", CsvWords.types) ?? .unspecified
    meeting.status = word("status", CsvWords.meetingStatuses) ?? .unspecified
    meeting.location = values["location"] ?? ""
    meeting.hasDinner = word("has_dinner", CsvWords.booleans) ?? false
    meeting.introducedBy = values["introduced_by"] ?? ""
    meeting.notes = values["notes"] ?? ""
    meeting.coverImageUrl = values["cover_image_url"] ?? ""
    let fields = MeetingField.allCases.filter { values[$0.rawValue] != nil }
    // A start that is not a time was reported as such.
    let checked = fields.filter { $0 != .startTime || meeting.startTime != nil || !hasStart }
    var violations = Violations()
    meeting.validate("", fields: checked.map(\.jsonName), into: &violations)
    for field in checked { MeetingRules.check(field, of: meeting, "", &violations) }
    take(violations)
    return .meeting(meeting, fields: fields)
  }

  mutating func attendance() -> ImportRows.Content? {
    let status = word("status", CsvWords.statuses)
    if status == nil, errors.isEmpty { fail("status", Reason.required.rawValue, "must be given") }
    let member = memberName()
    let meeting = meetingName()
    guard let status, let member, let meeting else { return nil }
    return .attendance(member, meeting, status)
  }

  private mutating func memberName() -> ImportRows.MemberName? {
    if let id = values["member_id"], !id.isEmpty {
      if let number = AttendanceIDs.member(id) { return .number(number) }
      fail("member_id", Reason.memberNotFound.rawValue, "no such member")
      return nil
    }
    if let name = values["member_name"], !name.isEmpty { return .key(MemberRules.key(of: name)) }
    fail(values["member_id"] == nil ? "member_name" : "member_id", Reason.required.rawValue, "must be given")
    return nil
  }

  private mutating func meetingName() -> ImportRows.MeetingName? {
    if let id = values["meeting_id"], !id.isEmpty {
      if let number = AttendanceIDs.meeting(id) { return .number(number) }
      fail("meeting_id", Reason.meetingNotFound.rawValue, "no such meeting")
      return nil
    }
    if let start = time("meeting_start_time") { return .startMs(start.millisecondsSince1970) }
    if values["meeting_start_time"]?.isEmpty ?? true {
      fail(values["meeting_id"] == nil ? "meeting_start_time" : "meeting_id", Reason.required.rawValue, "must be given")
    }
    return nil
  }
}
