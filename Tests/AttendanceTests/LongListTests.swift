import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore
import ServiceTesting
import TestSupport
import Testing

@testable import Attendance

/// Lists of long objects: every page fits into a frame, and no object is missing.
@Suite struct LongListTests {
  private static let frameBytesMax = 4 << 20

  @Test func pageEndsAtCountOrByteLimit() {
    func page(_ sizes: [Int]) -> (count: Int, hasMore: Bool) {
      var page = PageRows<Int>(countMax: 3, sizeBytesMax: 100)
      for size in sizes {
        guard page.add(size, sizeBytes: size) else { break }
      }
      return (page.items.count, page.hasMore)
    }
    let cases: [([Int], Int, Bool)] = [
      ([], 0, false), ([1, 1, 1], 3, false), ([1, 1, 1, 1], 3, true), ([60, 40], 2, false), ([60, 41], 1, true),
      // An object over the limit is a page of its own.
      ([500], 1, false), ([500, 1], 1, true), ([1, 500], 1, true),
    ]
    for (sizes, count, hasMore) in cases {
      let found = page(sizes)
      #expect(found.count == count && found.hasMore == hasMore, "\(sizes)")
    }
  }

  @Test func longMeetingsSpanSeveralPages() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", user: "anna")
      let notes = String(repeating: "🙂", count: 4_096)
      for index: Int64 in 0..<300 {
        let meeting = Meeting(
          startTime: ProtoTimestamp(millisecondsSince1970: fixture.clock.nowMs + index * 1_000),
          discussion: "Evening \(index)", notes: notes)
        _ = try await component.meetings.createMeeting(.init(meeting: meeting), context: admin)
      }
      var request = ListMeetingsRequest(pageSize: 1_000)
      var (found, pages): ([String], Int) = ([], 0)
      repeat {
        let page = try await component.meetings.listMeetings(request, context: admin)
        #expect(page.jsonUTF8Bytes().count < Self.frameBytesMax)
        found += page.meetings.map(\.id)
        pages += 1
        request.pageToken = page.nextPageToken
      } while !request.pageToken.isEmpty
      #expect(found == (1...300).reversed().map { "t_\($0)" })
      #expect(pages > 1)
      var changes = ListRosterChangesRequest(pageSize: 1_000, fromStart: true)
      var told = 0
      while true {
        let page = try await component.attendance.listRosterChanges(changes, context: anna)
        #expect(page.jsonUTF8Bytes().count < Self.frameBytesMax)
        told += page.changes.count
        changes.resumeToken = page.resumeToken
        if !page.hasMore { break }
      }
      #expect(told == 301)
      let made = try await component.meetings.createCalendarFeed(.init(), context: anna)
      let calendar = try await component.meetings.getCalendar(.init(secret: made.secret), context: nobody)
      #expect(calendar.jsonUTF8Bytes().count < Self.frameBytesMax)
      #expect(calendar.content.contains("UID:t_300@") && calendar.content.hasSuffix("END:VEVENT\r\nEND:VCALENDAR\r\n"))
    }
  }

  /// A deleted meeting's records can exceed a frame. Lists omit them, but they are verified and can be undone.
  @Test func longAuditValuesAreOmittedFromLists() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      var meetings: [Meeting] = []
      for _ in 0..<6 { meetings.append(try await component.makeMeeting(atMs: fixture.clock.nowMs)) }
      let (numbers, name) = (meetings.map(\.number), String(repeating: "x", count: 10_000))
      try await component.store.write { transaction in
        for member: Int64 in 1...120 {
          for meeting in numbers {
            try transaction.execute(
              "INSERT INTO attendance VALUES ($1, $2, 1, 2, $3, 0, 1, $4, NULL)",
              [.integer(meeting), .integer(member), .text(name), .integer(1_000_000 + meeting * 1_000 + member)])
          }
          try transaction.execute(
            MemberRow.insertSQL, MemberRow.values(Member(number: member, name: "M\(member)"), sequence: 0))
        }
      }
      for meeting in meetings {
        _ = try await component.meetings.deleteMeeting(.init(meetingId: meeting.id, force: true), context: admin)
      }
      let list = try await component.lodge.listAuditEntries(.init(), context: admin)
      #expect(list.entries.count == 12)
      #expect(list.entries[0].valuesOmitted && list.entries[0].oldState == nil && !list.entries[0].redacted)
      #expect(!list.entries[11].valuesOmitted && list.entries[11].newState?.meeting != nil)
      #expect(try await component.repository.auditRows(after: 0).count < 12)
      #expect(try await component.verify().intact)
      let undone = try await component.lodge.undoChange(.init(sequence: 12), context: admin)
      #expect(undone.entry?.valuesOmitted == true)
      let counts = try await component.attendance.listMeetingAttendance(
        .init(meetingId: meetings[5].id), context: admin
      ).counts
      #expect(counts?.present == 120)
    }
  }

  /// Existing objects remain usable when the limits are lowered below their number.
  @Test func loweredLimitsKeepExistingObjects() async throws {
    let fixture = try Fixture()
    var meeting = Meeting()
    try await fixture.run { component in
      for index in 0..<5 { _ = try await component.makeMember("Member \(index)") }
      meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs)
    }
    var limits = AttendanceLimits()
    (limits.membersMax, limits.meetingsMax) = (2, 1)
    let component = try await fixture.open(limits)
    #expect(await refusal { try await component.makeMember("More") } == "RESOURCE_EXHAUSTED MEMBERS_EXHAUSTED")
    #expect(
      await refusal { try await component.makeMeeting(atMs: fixture.clock.nowMs) }
        == "RESOURCE_EXHAUSTED MEETINGS_EXHAUSTED")
    try await component.setStatus(meeting, .completed)
    for index in 1...5 { try await component.record(Member(id: "m_\(index)"), meeting, .present) }
    _ = try await component.meetings.deleteMeeting(.init(meetingId: meeting.id, force: true), context: admin)
    let last = try await component.lodge.listAuditEntries(.init(pageSize: 1), context: admin).entries[0]
    #expect(last.oldState?.attendances.count == 5)
    _ = try await component.lodge.undoChange(.init(sequence: last.sequence), context: admin)
    #expect(try await component.figures(.init(id: "m_5")).presentCount == 1)
    await component.close()
  }
}
