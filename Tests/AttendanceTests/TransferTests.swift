import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileStore
import ServiceTesting
import TestSupport
import Testing

@testable import Attendance

@Suite struct TransferTests {
  private let memberHeader = "name,first_name,degree,initiation_date,passing_date"

  @Test func memberImportIsAllOrNothing() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let text = "\(memberHeader)\r\nAnna Rossi,Anna,fellow,2020-05-01,2021-05-01\r\n\"Bianchi, Bruno\",Bruno,,,\r\n"
      let dry = try await component.importCsv(.members, text, isDryRun: true)
      #expect((dry.rowCount, dry.createdCount, dry.committed, dry.errorCount) == (2, 2, false, 0))
      #expect(try await component.members.listMembers(.init(), context: admin).members.isEmpty)
      let first = try await component.importCsv(.members, text, requestID: "i1")
      #expect((first.createdCount, first.committed) == (2, true))
      #expect(try await component.importCsv(.members, text, requestID: "i1") == first)
      let again = try await component.importCsv(.members, text)
      #expect((again.createdCount, again.unchangedCount, again.committed) == (0, 2, true))
      let members = try await component.members.listMembers(.init(), context: admin).members
      #expect(members.map(\.name) == ["Anna Rossi", "Bianchi, Bruno"])
      #expect(members[0].degree == .fellow)
      #expect(members[0].passingDate == "2021-05-01")
      // Only the columns in the file are changed.
      let update = try await component.importCsv(.members, "name,degree\nanna rossi,MASTER\n")
      #expect(update.updatedCount == 1)
      #expect(try await component.members.getMember(.init(memberId: "m_1"), context: admin).member?.degree == .master)
      #expect(
        try await component.members.getMember(.init(memberId: "m_1"), context: admin).member?.initiationDate
          == "2020-05-01")
    }
  }

  @Test func invalidRowsAreReportedWithTheirColumns() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let text = """
        \(memberHeader)
        Anna,,grandmaster,2020-05-01,
        Bruno,,,2020-05-01,2019-01-01
        ,,,,
        Carla,,,2020-02-30,
        Dora,,
        Elio,,master,,

        """
      let found = try await component.importCsv(.members, text)
      #expect(!found.committed)
      #expect(
        found.errors.map { "\($0.row) \($0.column) \($0.reason)" } == [
          "2 degree WORD_UNKNOWN", "4 name REQUIRED", "5 initiation_date DATE_INVALID", "6  CELL_COUNT",
        ])
      let order = try await component.importCsv(.members, "\(memberHeader)\nElio,,,,\nBruno,,,2020-05-01,2019-01-01\n")
      #expect(order.errors.map { "\($0.row) \($0.column) \($0.reason)" } == ["3 passing_date DATES_OUT_OF_ORDER"])
      // Elio's row was valid, but nothing of the file was stored.
      #expect(try await component.members.listMembers(.init(), context: admin).members.isEmpty)
      #expect(try await component.verify().verifiedCount == 0)
    }
  }

  @Test(arguments: [
    ("name,nme\nA,b\n", "1 nme COLUMN_UNKNOWN"), ("degree\nmaster\n", "1 name COLUMN_MISSING"),
    ("name,name\nA,B\n", "1 name COLUMN_REPEATED"), ("", "0  FILE_EMPTY"), ("name\n\"A\n", "0  QUOTE_INVALID"),
    ("name\n\"A\"x\"\"\n", "2  QUOTE_INVALID"),
    ("name\n" + String(repeating: "A", count: 70_000) + "\n", "2  LINE_TOO_LONG"),
  ])
  func invalidFilesAreRejected(_ text: String, _ expected: String) async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let found = try await component.importCsv(.members, text)
      #expect(found.errors.map { "\($0.row) \($0.column) \($0.reason)" } == [expected])
      #expect(!found.committed)
    }
  }

  @Test(arguments: [
    ["\u{301}A", "B\u{301}"], ["\"\u{338}", ",\u{20DD}"], ["'\u{301}=1", "=\u{338}"],
    ["\u{FE0F}", "\u{200D}\u{1F514}"],
    ["é", "e\u{301}"], ["\r\n\u{301}", "\n\r"], ["\u{85}a", "\u{A0}a\u{2028}"], ["''=", "'"],
  ])
  func everyCellRoundTripsByteForByte(_ cells: [String]) throws {
    var file: [UInt8] = []
    CsvText.append(["name", "notes"], to: &file)
    CsvText.append(cells, to: &file)
    let table = try CsvParser.parse(file, rowsMax: 5).get()
    #expect(table.rows.map { $0.cells.map { Array($0.utf8) } } == [cells.map { Array($0.utf8) }])
  }

  @Test func otherEncodingsAndTooLargeFilesAreRejected() async throws {
    var limits = AttendanceLimits()
    limits.importBytesMax = 10_000
    limits.importRowsMax = 10
    let fixture = try Fixture(limits)
    try await fixture.run { component in
      func reason(_ bytes: [UInt8]) async throws -> String {
        let errors = try await component.importCsv(.members, bytes).errors
        return errors.map { "\($0.row) \($0.reason)" }.joined()
      }
      // Latin 1 and UTF-16.
      let cases: [([UInt8], String)] = [
        (Array("name\nAnna\n".utf8) + [0x4E, 0xE8, 0x0A], "3 ENCODING_INVALID"),
        ([0xFF, 0xFE, 0x6E, 0x00], "1 ENCODING_INVALID"),
        (Array(("name\n" + String(repeating: "A\n", count: 10_000)).utf8), "0 FILE_TOO_LARGE"),
        (Array(("name\n" + String(repeating: "A\n", count: 11)).utf8), "0 TOO_MANY_ROWS"),
      ]
      for (bytes, expected) in cases {
        let found = try await reason(bytes)
        #expect(found == expected)
      }
      // A byte order mark is not part of the first column. Semicolons separate cells if the header has no comma.
      let excel: [UInt8] = [0xEF, 0xBB, 0xBF] + Array("name;degree\nAnna;master\n".utf8)
      let taken = try await component.importCsv(.members, excel)
      #expect(taken.createdCount == 1)
    }
  }

  /// A line of 100 MB is rejected after its first 64 KiB.
  @Test func endlessLineIsNotBuffered() throws {
    var file = ImportFile(limits: AttendanceLimits())
    try file.take(.init(content: .header(ImportCsvRequest.ImportHeader(table: .members))))
    for _ in 0..<100 { try file.take(ImportCsvRequest(content: .chunk([UInt8](repeating: 65, count: 1 << 20)))) }
    #expect(file.isRefused)
    #expect(file.bytes.isEmpty)
    #expect(file.fault?.reason == "LINE_TOO_LONG")
  }

  @Test func headerMustComeFirstAndOnce() async throws {
    var file = ImportFile(limits: AttendanceLimits())
    func take(_ request: ImportCsvRequest) async -> String { await refusal { try file.take(request) } }
    #expect(await take(.init(content: .chunk([65]))) == "INVALID_ARGUMENT REQUIRED")
    #expect(await take(.init()) == "INVALID_ARGUMENT REQUIRED")
    let unspecified = ImportCsvRequest(content: .header(ImportCsvRequest.ImportHeader()))
    #expect(await take(unspecified) == "INVALID_ARGUMENT ENUM_UNSPECIFIED")
    let long = ImportCsvRequest.ImportHeader(table: .members, requestId: String(repeating: "r", count: 65))
    #expect(await take(.init(content: .header(long))) == "INVALID_ARGUMENT TOO_LONG")
    let summary = ImportCsvRequest(content: .header(ImportCsvRequest.ImportHeader(table: .summary)))
    #expect(await take(summary) == "INVALID_ARGUMENT ENUM_UNKNOWN")
    let header = ImportCsvRequest(content: .header(ImportCsvRequest.ImportHeader(table: .members)))
    #expect(await take(header) == "")
    #expect(await take(header) == "INVALID_ARGUMENT FIELD_NOT_ALLOWED")
  }

  @Test func meetingsAndAttendanceAreImportedAndExported() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      _ = try await component.importCsv(.members, "name,initiation_date\nAnna,2020-01-01\n=Bruno,\n")
      let meetings = """
        start_time,discussion,type,status,has_dinner,notes
        2025-11-25T18:30:00Z,"The pillars, again",ceremony,completed,true,"Two
        lines"
        2025-12-25T18:30:00Z,Solstice,,scheduled,,-
        2999-12-25T18:30:00Z,Far,,completed,,

        """
      let ahead = try await component.importCsv(.meetings, meetings)
      #expect(ahead.errors.map { "\($0.row) \($0.column) \($0.reason)" } == ["4 status MEETING_NOT_BEGUN"])
      let good = meetings.replacing("Far,,completed", with: "Far,,scheduled")
      #expect(try await component.importCsv(.meetings, good).createdCount == 3)
      #expect(try await component.importCsv(.meetings, good).unchangedCount == 3)
      let attendance = """
        member_id,member_name,meeting_start_time,status
        m_1,,2025-11-25T18:30:00Z,present
        ,"'=bruno",2025-11-25T18:30:00Z,excused

        """
      let taken = try await component.importCsv(.attendance, attendance)
      #expect((taken.createdCount, taken.errorCount) == (2, 0), "\(taken)")
      let wrong = try await component.importCsv(
        .attendance,
        "member_id,meeting_id,status\nm_1,t_1,present\nm_1,t_1,absent\nm_9,t_1,absent\nm_1,t_9,absent\nx,t_1,late\n")
      #expect(
        wrong.errors.map { "\($0.row) \($0.column) \($0.reason)" } == [
          "6 status WORD_UNKNOWN", "6 member_id MEMBER_NOT_FOUND",
        ])
      let stored = try await component.importCsv(
        .attendance, "member_id,meeting_id,status\nm_1,t_1,present\nm_1,t_1,absent\nm_9,t_1,absent\nm_1,t_9,absent\n")
      #expect(
        stored.errors.map { "\($0.row) \($0.column) \($0.reason)" } == [
          "3 member_id ROW_REPEATED", "4 member_id MEMBER_NOT_FOUND", "5 meeting_id MEETING_NOT_FOUND",
        ])
      #expect(try await component.figures(.init(id: "m_1")).presentCount == 1)
      let out = try await component.exportCsv(.attendance, year: 2025)
      #expect(
        out == """
          member_id,member_name,meeting_id,meeting_start_time,status\r
          m_1,Anna,t_1,2025-11-25T18:30:00Z,present\r
          m_2,"'=Bruno",t_1,2025-11-25T18:30:00Z,excused\r

          """)
      #expect(try await component.importCsv(.attendance, out).unchangedCount == 2)
      let summary = try await component.exportCsv(.summary, year: 2025)
      #expect(summary.contains("m_2,\"'=Bruno\",apprentice,1,0,0,0,1,0,0,0,0\r\n"))
      #expect(summary.contains("m_1,Anna,apprentice,1,1,1,0,0,0,100,1,1\r\n"))
    }
  }

  /// An import restores exactly what an export has written.
  @Test(arguments: [
    "=1+1", "+1", "-1", "@SUM(A1)", "\tx", "'=x", "''=x", "'plain", "a\"b", "a,b", "a\nb", "a\r\nb", " a ", "à", "a;b",
    "\u{2028}x", "'", "x;=1+1", "x;'=1", "x;\"=1\"", "x\t+1", "x\r\n-1", "x\n@a", "\u{FF1D}1", "x;\u{FF0D}1",
    "'\u{FF20}a",
    ";;'=", "\t=x", "\"'=x", "\r=", "a;'b", "-",
  ])
  func guardedCellsRoundTrip(_ text: String) async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let member = Member(name: "Anna", givenName: text)
      _ = try await component.members.createMember(.init(member: member), context: admin)
      let out = try await component.exportCsv(.members)
      let cell = out.split(separator: "\r\n")[1].split(separator: ",", omittingEmptySubsequences: false)[2]
      for first in ["=", "+", "-", "@", "\t"] { #expect(!cell.hasPrefix(first) && !cell.hasPrefix("\"" + first)) }
      #expect(Self.formulas(out) == [])
      let found = try await component.importCsv(.members, out)
      #expect(found.unchangedCount == 1, "\(found) \(out)")
    }
  }

  /// Returns the cells that would be formulas if semicolons, tabs or line breaks separate cells, ignoring leading
  /// quotes.
  private static func formulas(_ file: String) -> [String] {
    let cells = file.unicodeScalars.split { [";", "\t", "\r", "\n"].contains($0) }
    return cells.map { String($0.drop { $0 == "\"" }) }.filter { cell in
      ["=", "+", "-", "@", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}"].contains { cell.hasPrefix($0) }
    }
  }

  /// No spreadsheet finds a formula in a cell, and every cell round-trips byte for byte.
  @Test func randomCellsAreHarmlessAndRoundTrip() throws {
    let seed = UInt64.random(in: .min ... .max)
    var state = seed
    func next(_ count: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % count
    }
    let pieces = [
      "'", "\"", "=", "+", "-", "@", ";", "\t", "\r", "\n", ",", "a", " ", "\u{FF1D}", "\u{FF0B}", "\u{301}",
    ]
    for _ in 0..<5_000 {
      let cell = (0..<next(9)).map { _ in pieces[next(pieces.count)] }.joined()
      var file: [UInt8] = []
      CsvText.append(["x", cell], to: &file)
      #expect(Self.formulas(String(decoding: file, as: UTF8.self)) == [], "seed \(seed): \(cell.debugDescription)")
      let back = CsvGuard.unguarded(String(decoding: CsvGuard.guarded(cell), as: UTF8.self))
      #expect(Array(back.utf8) == Array(cell.utf8), "seed \(seed): \(cell.debugDescription)")
    }
  }

  /// Addresses stored before such marks were rejected can be exported and imported; new ones are rejected.
  @Test func storedAddressesCanBeImportedAgain() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let address = "x;=cmd|'/C'!A0;@y"
      let create = await failure { try await component.createMember(email: address) }
      #expect(create?.fieldViolations.map { "\($0.field) \($0.reason)" } == ["member.email EMAIL_INVALID"])
      _ = try await component.createMember(email: "x@example.org")
      try await component.store.write { transaction in
        try transaction.execute("UPDATE members SET email = $1", [.text(address)])
      }
      // The whole member as stored, as forms send it.
      var whole = try #require(try await component.members.listMembers(.init(), context: admin).members.first)
      whole.givenName = "Anna"
      let updated = try await component.members.updateMember(.init(member: whole), context: admin)
      #expect(updated.member?.email == address && updated.member?.givenName == "Anna")
      whole = try #require(updated.member)
      whole.email = "a=b@c"
      let refused = await failure { try await component.members.updateMember(.init(member: whole), context: admin) }
      #expect(refused?.fieldViolations.map { "\($0.field) \($0.reason)" } == ["member.email EMAIL_INVALID"])
      let out = try await component.exportCsv(.members)
      #expect(out.contains("\"x;'=cmd|'/C'!A0;'@y\""))
      #expect(try await component.importCsv(.members, out).unchangedCount == 1)
      let changed = try await component.importCsv(.members, out.replacing("!A0", with: "!A1"))
      #expect(changed.errors.map { "\($0.row) \($0.column) \($0.reason)" } == ["2 email EMAIL_INVALID"])
      let new = try await component.importCsv(.members, "name,email\nBruno,a=b@c\n")
      #expect(new.errors.map { "\($0.row) \($0.column) \($0.reason)" } == ["2 email EMAIL_INVALID"])
    }
  }

  @Test func calendarsConformToRFC5545() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", user: "anna")
      let meeting = Meeting(
        startTime: ProtoTimestamp(millisecondsSince1970: 1_764_095_400_000),
        discussion: "Pillars; tools, and \\more\n" + String(repeating: "è", count: 80),
        location: "Nostra Loggia - Tolfa")
      _ = try await component.meetings.createMeeting(.init(meeting: meeting), context: admin)
      let made = try await component.meetings.createCalendarFeed(.init(name: "phone"), context: user("anna"))
      let calendar = try await component.meetings.getCalendar(.init(secret: made.secret), context: nobody)
      #expect(calendar.contentType == "text/calendar; charset=utf-8")
      let lines = calendar.content.split(separator: "\r\n", omittingEmptySubsequences: false)
      #expect(lines.last == "")
      #expect(lines.allSatisfy { $0.utf8.count <= 75 })
      let text = calendar.content.replacing("\r\n ", with: "")
      #expect(text.contains("DTSTART:20251125T183000Z\r\n"))
      #expect(text.contains("UID:t_1@attendance.campanile\r\n"))
      #expect(text.contains("SUMMARY:Pillars\\; tools\\, and \\\\more\\n" + String(repeating: "è", count: 80) + "\r\n"))
      #expect(text.contains("STATUS:CONFIRMED"))
      for secret in ["", "cal_", made.secret + "x", "cal_" + String(repeating: "A", count: 43)] {
        #expect(
          await refusal { try await component.meetings.getCalendar(.init(secret: secret), context: nobody) }
            == "NOT_FOUND FEED_NOT_FOUND")
      }
      let again = CreateCalendarFeedRequest(name: "tablet", requestId: "f1")
      let tablet = try await component.meetings.createCalendarFeed(again, context: user("anna"))
      #expect(tablet.path == "/attendance/v1/calendars/\(tablet.secret)" && !tablet.secret.isEmpty)
      // A repeated request returns the feed without its secret.
      #expect(
        try await component.meetings.createCalendarFeed(again, context: user("anna"))
          == CreateCalendarFeedResponse(feed: tablet.feed))
      for _ in 0..<8 { _ = try await component.meetings.createCalendarFeed(.init(), context: user("anna")) }
      #expect(
        await refusal { try await component.meetings.createCalendarFeed(.init(), context: user("anna")) }
          == "RESOURCE_EXHAUSTED FEEDS_EXHAUSTED")
      #expect(
        await refusal {
          try await component.meetings.createCalendarFeed(
            .init(name: String(repeating: "x", count: 129)), context: user("anna"))
        } == "INVALID_ARGUMENT TOO_LONG")
      var list = ListCalendarFeedsRequest(pageSize: 4)
      var feeds: [CalendarFeed] = []
      repeat {
        let page = try await component.meetings.listCalendarFeeds(list, context: user("anna"))
        feeds += page.feeds
        list.pageToken = page.nextPageToken
      } while !list.pageToken.isEmpty
      #expect(feeds.count == 10 && feeds.map(\.id) == Set(feeds.map(\.id)).sorted())
      let id = try #require(made.feed?.id)
      _ = try await component.meetings.deleteCalendarFeed(.init(feedId: id), context: user("anna"))
      #expect(
        await refusal { try await component.meetings.getCalendar(.init(secret: made.secret), context: nobody) }
          == "NOT_FOUND FEED_NOT_FOUND")
    }
  }

  @Test func memberExportContainsEverythingStored() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", pin: "471147")
      for day: Int64 in 1...3 {
        let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs - day * Fixture.dayMs, .completed)
        try await component.record(anna, meeting, .present)
      }
      let own = session(try await component.login("Anna", "471147").sessionToken)
      _ = try await component.meetings.createCalendarFeed(.init(), context: own)
      // Data of other members is not exported.
      let bruno = try await component.makeMember("Bruno")
      try await component.record(bruno, try await component.makeMeeting(atMs: fixture.clock.nowMs), .present)
      _ = try await component.meetings.createCalendarFeed(.init(), context: admin)
      var kinds: [String] = []
      try await MemberExport(
        repository: component.repository, limits: AttendanceLimits(), member: anna.number
      ).run { entry in
        switch entry {
        case .member: kinds.append("member")
        case .attendance: kinds.append("attendance")
        case .session: kinds.append("session")
        case .feed: kinds.append("feed")
        case .device: kinds.append("device")
        case .auditEntryJson(let json): kinds.append(try AuditEntry(jsonUTF8: Array(json.utf8)).action)
        }
      }
      let record = ["attendance", "attendance.record"]
      #expect(
        kinds == ["member", "session", "device", "feed"] + record + record + record + ["member.pin", "member.create"])
    }
  }
}

extension AttendanceComponent {
  fileprivate func createMember(email: String) async throws -> CreateMemberResponse {
    let member = Member(name: "Anna", email: email)
    return try await members.createMember(.init(member: member), context: admin)
  }
}
