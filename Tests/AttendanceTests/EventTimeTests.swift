import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import ServiceTesting
import TestSupport
import Testing

@testable import Attendance

/// Decisions that waited on an offline device, and records before the initiation.
@Suite struct EventTimeTests {
  private func confirm(
    _ component: AttendanceComponent, _ meeting: Meeting, _ status: AttendanceStatus, atMs eventMs: Int64?
  ) async throws -> Attendance {
    let request = ConfirmAttendanceRequest(
      meetingId: meeting.id, status: status, eventTime: eventMs.map { ProtoTimestamp(millisecondsSince1970: $0) })
    return try #require(try await component.attendance.confirmAttendance(request, context: user("anna")).attendance)
  }

  @Test("the latest decision wins, in whatever order the decisions arrive")
  func latestDecisionWins() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", user: "anna")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs + Fixture.dayMs)
      let startMs = fixture.clock.nowMs
      fixture.clock.advance(by: .milliseconds(10 * Fixture.hourMs))
      let second = try await confirm(component, meeting, .absent, atMs: startMs + 2 * Fixture.hourMs)
      #expect(second.eventTime?.millisecondsSince1970 == startMs + 2 * Fixture.hourMs)
      #expect(second.updateTime?.millisecondsSince1970 == fixture.clock.nowMs)
      // An earlier decision arrives later: it changes nothing and returns the record.
      #expect(try await confirm(component, meeting, .present, atMs: startMs + Fixture.hourMs) == second)
      // The same status at a later time is a decision too: one between both has no effect.
      let third = try await confirm(component, meeting, .absent, atMs: startMs + 4 * Fixture.hourMs)
      #expect(third.status == .absent && third.etag != second.etag)
      #expect(try await confirm(component, meeting, .present, atMs: startMs + 3 * Fixture.hourMs) == third)
      // The secretary's record is a decision of now.
      let recorded = try await component.record(anna, meeting, .excused)
      #expect(recorded.eventTime == recorded.updateTime)
      #expect(try await confirm(component, meeting, .present, atMs: startMs + 5 * Fixture.hourMs) == recorded)
      // Without a time, the same status changes nothing, and another one always counts, whatever the clock shows.
      #expect(try await component.record(anna, meeting, .excused) == recorded)
      #expect(try await confirm(component, meeting, .present, atMs: nil).status == .present)
      #expect(try await component.verify().intact)
    }
  }

  @Test("secretaries can report times for one member and for a meeting")
  func secretariesReportTimes() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs - Fixture.dayMs, .completed)
      let current = try await component.record(anna, meeting, .present)
      let earlier = ProtoTimestamp(millisecondsSince1970: fixture.clock.nowMs - Fixture.hourMs)
      let one = RecordAttendanceRequest(
        memberId: anna.id, meetingId: meeting.id, status: .absent, eventTime: earlier)
      #expect(try await component.attendance.recordAttendance(one, context: admin).attendance == current)
      let all = RecordMeetingAttendanceRequest(
        meetingId: meeting.id, entries: [.init(memberId: anna.id, status: .absent)], eventTime: earlier)
      #expect(try await component.attendance.recordMeetingAttendance(all, context: admin).attendances == [current])
      #expect(try await component.figures(anna).presentCount == 1)
    }
  }

  @Test("the time of the decision decides whether a confirmation is late")
  func timeDecidesLateness() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", user: "anna")
      let startMs = fixture.clock.nowMs + Fixture.hourMs
      let meeting = try await component.makeMeeting(atMs: startMs)
      let settings = LodgeSettings(lateConfirmation: .init(seconds: 3_600))
      _ = try await component.lodge.updateLodgeSettings(.init(settings: settings), context: admin)
      fixture.clock.advance(by: .milliseconds(20 * Fixture.dayMs))
      #expect(
        await refusal { try await confirm(component, meeting, .present, atMs: nil) }
          == "FAILED_PRECONDITION CONFIRMATION_LATE")
      #expect(
        await refusal { try await confirm(component, meeting, .present, atMs: startMs + Fixture.hourMs + 1) }
          == "FAILED_PRECONDITION CONFIRMATION_LATE")
      #expect(try await confirm(component, meeting, .present, atMs: startMs + Fixture.hourMs).status == .present)
    }
  }

  @Test(
    "times beyond the limits are refused",
    arguments: [
      (-EventTime.ageMaxMs, true), (-EventTime.ageMaxMs - 1, false), (EventTime.aheadMaxMs, true),
      (EventTime.aheadMaxMs + 1, false),
    ])
  func timesAreBounded(offsetMs: Int64, isAccepted: Bool) async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", user: "anna")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs + Fixture.dayMs)
      let nowMs = fixture.clock.nowMs
      let error = await failure { try await confirm(component, meeting, .present, atMs: nowMs + offsetMs) }
      #expect((error == nil) == isAccepted)
      let violations = error?.fieldViolations.map { "\($0.field) \($0.reason)" } ?? []
      #expect(violations == (isAccepted ? [] : ["eventTime OUT_OF_RANGE"]))
      guard isAccepted, offsetMs > 0 else { return }
      // A device whose clock is ahead decides now, not in the future.
      #expect(try await confirm(component, meeting, .present, atMs: nil).eventTime?.millisecondsSince1970 == nowMs)
    }
  }

  @Test("records of meetings before the initiation are not listed, but exported and kept")
  func recordsBeforeInitiationAreNotListed() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna")
      let bruno = try await component.makeMember("Bruno")
      // 2026-01-31T23:30Z is 2026-02-01 in Rome.
      let meetings = try await [1_769_716_800_000, 1_769_902_200_000].asyncMap {
        try await component.makeMeeting(atMs: $0, .completed)
      }
      for meeting in meetings {
        for member in [anna, bruno] { try await component.record(member, meeting, .present) }
      }
      func set(_ day: String) async throws {
        let request = UpdateMemberRequest(
          member: Member(id: anna.id, initiationDate: day), updateMask: .init(paths: ["initiation_date"]))
        _ = try await component.members.updateMember(request, context: admin)
      }
      func listed(year: Int32 = 0) async throws -> [String] {
        let request = ListMemberAttendanceRequest(memberId: anna.id, year: year)
        return try await component.attendance.listMemberAttendance(request, context: admin).attendances.map(\.meetingId)
      }
      #expect(try await listed() == meetings.reversed().map(\.id))
      try await set("2026-02-01")
      #expect(try await listed() == [meetings[1].id])
      #expect(try await listed(year: 2026) == [meetings[1].id])
      let first = try await component.attendance.listMeetingAttendance(.init(meetingId: meetings[0].id), context: admin)
      #expect(first.attendances.map(\.memberId) == [bruno.id] && first.counts?.present == 1)
      let second = try await component.attendance.listMeetingAttendance(
        .init(meetingId: meetings[1].id), context: admin)
      #expect(second.attendances.count == 2 && second.counts?.present == 2)
      try await set("2026-02-02")
      #expect(try await listed().isEmpty)
      // The member's data and a corrected date still have them.
      var exported = 0
      try await MemberExport(repository: component.repository, limits: fixture.limits, member: anna.number).run {
        entry in
        if case .attendance = entry { exported += 1 }
      }
      #expect(exported == 2)
      try await set("")
      #expect(try await listed().count == 2)
    }
  }

  @Test("years are listed with their meetings, newest first, in pages")
  func yearsAreListed() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      #expect(try await component.meetings.listMeetingYears(.init(), context: admin).years.isEmpty)
      // The last minutes of 2024 in UTC are 2025 in Rome.
      let meetings: [(Int64, MeetingStatus)] = [
        (1_735_687_800_000, .completed), (1_735_603_200_000, .cancelled), (1_735_603_300_000, .completed),
        (1_900_000_000_000, .scheduled),
      ]
      for (startMs, status) in meetings { _ = try await component.makeMeeting(atMs: startMs, status) }
      let expected = [
        MeetingYear(year: 2030, meetingCount: 1), MeetingYear(year: 2025, meetingCount: 1, completedCount: 1),
        MeetingYear(year: 2024, meetingCount: 2, completedCount: 1),
      ]
      #expect(try await component.meetings.listMeetingYears(.init(), context: admin).years == expected)
      var (found, token): ([MeetingYear], String) = ([], "")
      repeat {
        let page = try await component.meetings.listMeetingYears(.init(pageSize: 1, pageToken: token), context: admin)
        #expect(page.years.count == 1)
        found += page.years
        token = page.nextPageToken
      } while !token.isEmpty
      #expect(found == expected)
    }
  }
}

extension Array {
  fileprivate func asyncMap<T>(_ transform: (Element) async throws -> T) async throws -> [T] {
    var result: [T] = []
    for element in self { result.append(try await transform(element)) }
    return result
  }
}
