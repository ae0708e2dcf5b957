import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// Writes a table as a CSV file in a format, in chunks. Reads the next rows only after the previous chunk was sent.
struct CsvExport: Sendable {
  /// The size from which a chunk is sent.
  static let chunkBytes = 60_000
  private static let pageRows: Int32 = 500

  let repository: any AttendanceRepository
  let limits: AttendanceLimits
  let caller: AttendanceCaller
  var format = CsvFormat()

  func run(_ table: CsvTable, year: Int64?, send: (String) async throws -> Void) async throws {
    switch table {
    case .members: try await members(send)
    case .meetings: try await meetings(year, send)
    case .attendance: try await attendance(year, send)
    // The contract allows no other table than the summary.
    default: try await summary(year, send)
    }
  }

  private func members(_ send: (String) async throws -> Void) async throws {
    var out = start(ImportReader.columns(of: .members).all)
    try await memberPages { page in
      for member in page where member.eraseTime == nil {
        CsvText.append(
          [
            member.id, member.name, member.givenName, member.familyName, member.email,
            word(member.degree, CsvWords.degrees), word(member.office, CsvWords.offices),
            member.initiationDate, member.passingDate, member.raisingDate, word(member.active, CsvWords.booleans),
            word(member.role, CsvWords.roles), member.userId,
          ], separator: format.separator, to: &out)
      }
      try await flush(&out, atLeast: Self.chunkBytes, send)
    }
    try await flush(&out, atLeast: 1, send)
  }

  private func meetings(_ year: Int64?, _ send: (String) async throws -> Void) async throws {
    var out = start(ImportReader.columns(of: .meetings).all)
    try await meetingPages(year) { page in
      for meeting in page {
        CsvText.append(
          [
            meeting.id, CsvWords.text(meeting.startTime), meeting.timeZone, meeting.discussion,
            word(meeting.type, CsvWords.types), word(meeting.status, CsvWords.meetingStatuses),
            meeting.location, word(meeting.hasDinner, CsvWords.booleans), meeting.introducedBy, meeting.notes,
            meeting.coverImageUrl,
          ], separator: format.separator, to: &out)
      }
      try await flush(&out, atLeast: Self.chunkBytes, send)
    }
    try await flush(&out, atLeast: 1, send)
  }

  /// Writes the newest meeting first, and its records by member number. Cells that repeat for a member or meeting are
  /// encoded once and copied.
  private func attendance(_ year: Int64?, _ send: (String) async throws -> Void) async throws {
    var out = start(ImportReader.columns(of: .attendance).all)
    let members = try await memberCells()
    let separator = format.separator
    let lineEnd = [separator, UInt8(ascii: "\r"), UInt8(ascii: "\n")]
    let words = Dictionary(
      uniqueKeysWithValues: CsvWords.statuses.words.map { status in
        (status.value.rawValue, [separator] + (format.isItalian ? status.italian : status.english).utf8 + lineEnd[1...])
      })
    try await meetingPages(year) { page in
      for meeting in page {
        var cells: [UInt8] = [separator]
        CsvText.append(meeting.id, to: &cells)
        cells.append(separator)
        CsvText.append(CsvWords.text(meeting.startTime), to: &cells)
        var after: Int64 = 0
        while true {
          let rows = try await repository.statuses(ofMeeting: meeting.number, after: after, rowsMax: Self.statusRows)
          for row in rows {
            guard let member = members[row.member] else { continue }
            out += member
            out += cells
            out += words[row.status] ?? lineEnd
            after = row.member
          }
          try await flush(&out, atLeast: Self.chunkBytes, send)
          if rows.count < Self.statusRows { break }
        }
      }
    }
    try await flush(&out, atLeast: 1, send)
  }

  private static let statusRows = 1_000

  /// Returns the encoded id and name cells of every member.
  private func memberCells() async throws -> [Int64: [UInt8]] {
    var cells: [Int64: [UInt8]] = [:]
    try await memberPages { page in
      for member in page {
        var bytes: [UInt8] = []
        CsvText.append(member.id, to: &bytes)
        bytes.append(format.separator)
        CsvText.append(member.name, to: &bytes)
        cells[member.number] = bytes
      }
    }
    return cells
  }

  private func summary(_ year: Int64?, _ send: (String) async throws -> Void) async throws {
    var out = start(
      [
        "member_id", "name", "degree", "eligible", "counted", "present", "absent", "excused", "unconfirmed",
        "percentage", "current_streak", "best_streak",
      ])
    try await pages(parts: 1) { query in
      query.page(try await repository.summaries(query, year: year, includesInactive: false)) {
        [MemberRules.key(of: $0.name)]
      }
    } each: { page in
      for line in page {
        let figures = line.statistics ?? AttendanceStatistics()
        let numbers = [
          figures.eligibleCount, figures.countedCount, figures.presentCount, figures.absentCount,
          figures.excusedCount, figures.unconfirmedCount, figures.percentage, figures.currentStreak,
          figures.bestStreak,
        ]
        CsvText.append(
          [line.memberId, line.name, word(line.degree, CsvWords.degrees)] + numbers.map(String.init),
          separator: format.separator, to: &out)
      }
      try await flush(&out, atLeast: Self.chunkBytes, send)
    }
    try await flush(&out, atLeast: 1, send)
  }

  /// Returns the beginning of a file with its header.
  private func start(_ columns: [String]) -> [UInt8] {
    var out: [UInt8] = format.hasByteOrderMark ? Array("\u{FEFF}".utf8) : []
    CsvText.append(format.header(columns), separator: format.separator, to: &out)
    return out
  }

  private func word<V>(_ value: V, _ vocabulary: CsvVocabulary<V>) -> String {
    vocabulary.word(value, isItalian: format.isItalian)
  }

  private func flush(
    _ out: inout [UInt8], atLeast sizeBytes: Int, _ send: (String) async throws -> Void
  ) async throws {
    guard out.count >= sizeBytes else { return }
    let chunk = String(decoding: out, as: UTF8.self)
    out.removeAll(keepingCapacity: true)
    try await send(chunk)
  }

  private func memberPages(each: ([Member]) async throws -> Void) async throws {
    try await pages(parts: 1) { query in
      query.page(try await repository.members(query, includesInactive: true)) { [MemberRules.key(of: $0.name)] }
    } each: {
      try await each($0)
    }
  }

  private func meetingPages(_ year: Int64?, each: ([Meeting]) async throws -> Void) async throws {
    try await pages(parts: 2) { query in
      query.page(try await repository.meetings(query, year: year, status: nil)) {
        [String($0.startMs), String($0.number)]
      }
    } each: {
      try await each($0)
    }
  }

  private func pages<T>(
    parts: Int, read: (PositionQuery) async throws -> (page: [T], nextPageToken: String),
    each: ([T]) async throws -> Void
  ) async throws {
    var token = ""
    repeat {
      let query = try PositionQuery(
        user: caller.name, pageSize: Self.pageRows, pageToken: token, scope: ["csv"], parts: parts, limits: limits)
      let (page, next) = try await read(query)
      try await each(page)
      token = next
    } while !token.isEmpty
  }
}
