import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import ServiceTesting
import TestSupport
import Testing

@testable import Attendance

@Suite struct MembersAndMeetingsTests {
  @Test func membersAreCreatedReadAndChanged() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let draft = Member(
        id: "m_99", number: 99, name: "Anna Rossi", initiationDate: "2020-05-01", passingDate: "2021-05-01")
      let request = CreateMemberRequest(member: draft, requestId: "r1")
      let made = try #require(try await component.members.createMember(request, context: admin).member)
      #expect(made.id == "m_1")
      #expect(made.degree == .apprentice)
      #expect(made.role == .member)
      #expect(made.active)
      #expect(try await component.members.createMember(request, context: admin).member == made)
      #expect(try await component.members.getMember(.init(memberId: "m_1"), context: admin).member == made)
      let change = Member(id: made.id, degree: .master, passingDate: "2020-04-30")
      var update = UpdateMemberRequest(member: change)
      let error = await failure { try await component.members.updateMember(update, context: admin) }
      #expect(error?.reason == "DATES_OUT_OF_ORDER")
      #expect(error?.fieldViolations.first?.field == "member.passingDate")
      // With a mask the date is cleared; without one an empty date is not set.
      update.member?.passingDate = ""
      update.updateMask = ProtoFieldMask(paths: ["degree", "passing_date"])
      let changed = try await component.members.updateMember(update, context: admin).member
      #expect(changed?.degree == .master)
      #expect(changed?.passingDate == "")
      #expect(changed?.initiationDate == "2020-05-01")
      #expect(changed?.etag == "v2")
      update.member?.etag = "v1"
      #expect(
        await refusal { try await component.members.updateMember(update, context: admin) } == "ABORTED ETAG_MISMATCH")
      update.updateMask = ProtoFieldMask(paths: ["active"])
      #expect(
        await refusal { try await component.members.updateMember(update, context: admin) }
          == "INVALID_ARGUMENT FIELD_MASK_INVALID")
    }
  }

  @Test func namesAndUsersAreUnique() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", user: "anna")
      #expect(await refusal { try await component.makeMember(" ANNA") } == "ALREADY_EXISTS NAME_TAKEN")
      #expect(
        await refusal { try await component.makeMember("Other", user: "anna") } == "ALREADY_EXISTS USER_TAKEN")
      let bruno = try await component.makeMember("Bruno")
      var change = bruno
      change.name = "anna"
      #expect(
        await refusal { try await component.members.updateMember(.init(member: change), context: admin) }
          == "ALREADY_EXISTS NAME_TAKEN")
      change.name = "BRUNO"
      #expect(try await component.members.updateMember(.init(member: change), context: admin).member?.name == "BRUNO")
    }
  }

  @Test func deactivatedMembersLeaveNameOrderedList() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      for name in ["dora", "Bruno", "Carla", "anna", "Elio"] { _ = try await component.makeMember(name) }
      _ = try await component.members.deactivateMember(.init(memberId: "m_3"), context: admin)
      func names(_ includesInactive: Bool) async throws -> [String] {
        var request = ListMembersRequest(pageSize: 2, includeInactive: includesInactive)
        var names: [String] = []
        repeat {
          let page = try await component.members.listMembers(request, context: admin)
          names += page.members.map(\.name)
          request.pageToken = page.nextPageToken
        } while !request.pageToken.isEmpty
        return names
      }
      #expect(try await names(false) == ["anna", "Bruno", "dora", "Elio"])
      #expect(try await names(true) == ["anna", "Bruno", "Carla", "dora", "Elio"])
      #expect(
        await refusal { try await component.members.listMembers(.init(pageSize: -1), context: admin) }
          == "INVALID_ARGUMENT OUT_OF_RANGE")
    }
  }

  @Test func limitsAreEnforced() async throws {
    var limits = AttendanceLimits()
    limits.membersMax = 1
    limits.meetingsMax = 2
    limits.completedPerYearMax = 1
    let fixture = try Fixture(limits)
    try await fixture.run { component in
      _ = try await component.makeMember("Anna")
      #expect(await refusal { try await component.makeMember("Bruno") } == "RESOURCE_EXHAUSTED MEMBERS_EXHAUSTED")
      _ = try await component.makeMeeting(atMs: fixture.clock.nowMs - Fixture.dayMs, .completed)
      #expect(
        await refusal { try await component.makeMeeting(atMs: fixture.clock.nowMs - Fixture.dayMs, .completed) }
          == "RESOURCE_EXHAUSTED MEETINGS_EXHAUSTED")
      _ = try await component.makeMeeting(atMs: fixture.clock.nowMs)
      #expect(
        await refusal { try await component.makeMeeting(atMs: fixture.clock.nowMs) }
          == "RESOURCE_EXHAUSTED MEETINGS_EXHAUSTED")
    }
  }

  @Test func erasureRemovesPersonalDataAndKeepsTotals() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna Rossi", initiation: "2020-01-01", user: "anna", pin: "471147")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs - Fixture.dayMs, .completed)
      try await component.record(anna, meeting, .present)
      _ = try await component.login("Anna Rossi", "471147")
      var request = EraseMemberRequest(memberId: anna.id, confirmName: "Anna")
      #expect(
        await refusal { try await component.members.eraseMember(request, context: admin) }
          == "FAILED_PRECONDITION NAME_NOT_CONFIRMED")
      request.confirmName = "Anna Rossi"
      request.etag = "v9"
      #expect(
        await refusal { try await component.members.eraseMember(request, context: admin) } == "ABORTED ETAG_MISMATCH")
      request.etag = try #require(
        try await component.members.getMember(.init(memberId: anna.id), context: admin).member
      ).etag
      let erased = try await component.members.eraseMember(request, context: admin)
      #expect(erased.member?.name == "Erased m_1")
      #expect(erased.member?.active == false)
      #expect(erased.redactedEntryCount == 2)
      // Erasing again changes nothing.
      #expect(try await component.members.eraseMember(request, context: admin).member == erased.member)
      let counts = try await component.attendance.listMeetingAttendance(.init(meetingId: meeting.id), context: admin)
        .counts
      #expect(counts?.present == 1)
      #expect(try await component.figures(anna).presentCount == 1)
      // The audit log contains no personal data any more.
      let log = try await component.lodge.listAuditEntries(.init(), context: admin).entries
      #expect(!log.contains { $0.jsonString().contains("Anna") })
      let chain = try await component.verify()
      #expect(chain.intact)
      #expect(chain.redactedCount == 2)
      #expect(
        await refusal { try await component.login("Anna Rossi", "471147") } == "UNAUTHENTICATED CREDENTIALS_INVALID")
      #expect(
        await refusal { try await component.record(anna, meeting, .absent) } == "FAILED_PRECONDITION MEMBER_ERASED")
      #expect(
        await refusal {
          try await component.members.reactivateMember(.init(memberId: anna.id), context: admin)
        } == "FAILED_PRECONDITION MEMBER_ERASED")
      // The name can be used again.
      _ = try await component.makeMember("Anna Rossi", user: "anna")
    }
  }

  @Test func meetingsAreListedByYearAndStatus() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      // 2024-12-31T23:30Z is 2025 in Rome.
      let edge = try await component.makeMeeting(atMs: 1_735_687_800_000, .completed)
      #expect(edge.year == 2025)
      let old = try await component.makeMeeting(atMs: 1_720_000_000_000, .cancelled)
      var next: [Meeting] = []
      for day: Int64 in [5, 1, 3, 9] {
        next.append(try await component.makeMeeting(atMs: fixture.clock.nowMs + day * Fixture.dayMs))
      }
      func ids(_ year: Int32, _ status: MeetingStatus) async throws -> [String] {
        var request = ListMeetingsRequest(pageSize: 2, year: year, status: status)
        var ids: [String] = []
        repeat {
          let page = try await component.meetings.listMeetings(request, context: admin)
          ids += page.meetings.map(\.id)
          request.pageToken = page.nextPageToken
        } while !request.pageToken.isEmpty
        return ids
      }
      let upcoming = [next[1], next[2], next[0], next[3]].map(\.id)
      #expect(try await ids(0, .unspecified) == upcoming.reversed() + [edge.id, old.id])
      #expect(try await ids(2025, .unspecified) == [edge.id])
      #expect(try await ids(2024, .cancelled) == [old.id])
      #expect(try await ids(2024, .completed) == [])
      #expect(try await ids(0, .scheduled) == upcoming.reversed())
      #expect(try await component.meetings.listUpcomingMeetings(.init(), context: admin).meetings.map(\.id) == upcoming)
      var request = ListUpcomingMeetingsRequest(pageSize: 1)
      let first = try await component.meetings.listUpcomingMeetings(request, context: admin)
      #expect(first.meetings.map(\.id) == [upcoming[0]])
      // A meeting that begins between two pages is left out.
      fixture.clock.advance(by: .milliseconds(3 * Fixture.dayMs + 1))
      (request.pageSize, request.pageToken) = (0, first.nextPageToken)
      let last = try await component.meetings.listUpcomingMeetings(request, context: admin)
      #expect(last.meetings.map(\.id) == [upcoming[2], upcoming[3]])
      #expect(last.nextPageToken.isEmpty)
      #expect(
        await refusal {
          try await component.meetings.listUpcomingMeetings(.init(pageSize: -1), context: admin)
        } == "INVALID_ARGUMENT OUT_OF_RANGE")
      #expect(await refusal { try await ids(0, .init(rawValue: 9)) } == "INVALID_ARGUMENT ENUM_UNKNOWN")
      for year: Int32 in [-1, 1, 1_699, 3_000, .max] {
        #expect(await refusal { try await ids(year, .unspecified) } == "INVALID_ARGUMENT OUT_OF_RANGE")
      }
    }
  }

  @Test func deletingMeetingWithAttendanceNeedsForce() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs - Fixture.dayMs, .completed)
      try await component.record(anna, meeting, .present)
      var request = DeleteMeetingRequest(meetingId: meeting.id)
      #expect(
        await refusal { try await component.meetings.deleteMeeting(request, context: admin) }
          == "FAILED_PRECONDITION MEETING_HAS_ATTENDANCE")
      request.force = true
      #expect(
        try await component.meetings.deleteMeeting(request, context: admin).deletedAttendanceCount == 1)
      #expect(try await component.figures(anna) == AttendanceStatistics())
      #expect(
        await refusal { try await component.meetings.deleteMeeting(request, context: admin) }
          == "NOT_FOUND MEETING_NOT_FOUND")
      // Numbers are never reused.
      #expect(try await component.makeMeeting(atMs: fixture.clock.nowMs).id == "t_2")
    }
  }

  @Test func meetingMovedToAnotherDayIsUpdated() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      // 23:30 and noon in Rome.
      let late = try await component.makeMeeting(atMs: 1_770_071_400_000)
      let noon = try await component.makeMeeting(atMs: 1_770_030_000_000)
      fixture.clock.advance(by: .milliseconds(Fixture.hourMs))
      _ = try await component.lodge.updateLodgeSettings(
        .init(settings: LodgeSettings(timeZone: "Europe/Athens")), context: admin)
      func found(_ id: String) async throws -> Meeting? {
        try await component.meetings.getMeeting(.init(meetingId: id), context: admin).meeting
      }
      let moved = try await found(late.id)
      #expect(moved?.etag != late.etag)
      #expect(moved?.updateTime?.millisecondsSince1970 == fixture.clock.nowMs)
      #expect(try await found(noon.id) == noon)
    }
  }

  @Test func statisticsArePrivateIfConfigured() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", user: "anna")
      let bruno = try await component.makeMember("Bruno", user: "bruno")
      _ = try await component.figures(bruno, user("anna"))
      _ = try await component.lodge.updateLodgeSettings(
        .init(settings: LodgeSettings(statisticsPrivate: true)), context: admin)
      _ = try await component.figures(anna, user("anna"))
      let refused = "PERMISSION_DENIED STATISTICS_PRIVATE"
      #expect(await refusal { try await component.figures(bruno, user("anna")) } == refused)
      #expect(
        await refusal { try await component.statistics.listMemberSummaries(.init(), context: user("anna")) } == refused)
      #expect(
        await refusal {
          try await component.attendance.listMemberAttendance(.init(memberId: bruno.id), context: user("anna"))
        } == refused)
      #expect(
        await refusal {
          try await component.statistics.getForecast(
            .init(memberId: bruno.id, targetPercentage: 50), context: user("anna"))
        } == refused)
      // A stranger gets the same error for a member who does not exist.
      let stranger = Member(id: "m_99")
      #expect(await refusal { try await component.figures(stranger, user("anna")) } == refused)
    }
  }

  @Test func forecastsAndAbsentees() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna")
      let bruno = try await component.makeMember("Bruno")
      for day: Int64 in [40, 30, 20, 10] {
        let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs - day * Fixture.dayMs, .completed)
        try await component.record(anna, meeting, day > 25 ? .present : .absent)
        try await component.record(bruno, meeting, .present)
      }
      for day: Int64 in [5, 15] { _ = try await component.makeMeeting(atMs: fixture.clock.nowMs + day * Fixture.dayMs) }
      func forecast(_ target: Int32) async throws -> GetForecastResponse {
        try await component.statistics.getForecast(.init(memberId: anna.id, targetPercentage: target), context: admin)
      }
      let half = try await forecast(50)
      #expect((half.upcomingCount, half.neededCount, half.reachable) == (2, 1, true))
      #expect(half.bestPercentage == 67)
      let most = try await forecast(67)
      #expect((most.neededCount, most.reachable) == (2, false))
      for target: Int32 in [0, 101] {
        #expect(await refusal { try await forecast(target) } == "INVALID_ARGUMENT OUT_OF_RANGE")
      }
      let since = Days.text((fixture.clock.nowMs - 25 * Fixture.dayMs) / Fixture.dayMs)
      let absentees = try await component.statistics.listAbsentees(.init(sinceDate: since), context: admin)
      #expect(absentees.absentees.map(\.name) == ["Anna"])
      #expect(absentees.absentees.first?.lastMeetingId == "t_2")
      #expect(absentees.absentees.first?.missedCount == 2)
      for date in ["", "2025-1-1", "2025-02-29"] {
        #expect(
          await refusal { try await component.statistics.listAbsentees(.init(sinceDate: date), context: admin) }
            == "INVALID_ARGUMENT DATE_INVALID")
      }
      #expect(
        await refusal { try await component.figures(anna, asOf: "2025-02-29") } == "INVALID_ARGUMENT DATE_INVALID")
    }
  }
}
