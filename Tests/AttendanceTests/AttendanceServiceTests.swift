import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import ServiceTesting
import TestSupport
import Testing

@testable import Attendance

@Suite struct AttendanceServiceTests {
  @Test func recordingIsAnIdempotentUpsert() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs - Fixture.dayMs, .completed)
      let first = try await component.record(anna, meeting, .present, requestID: "r1")
      #expect(first.etag == "v1")
      #expect(first.source == .recorded)
      #expect(first.recordedBy == "user/root")
      // The same status again returns the same record, whatever the request id.
      #expect(try await component.record(anna, meeting, .present) == first)
      let second = try await component.record(anna, meeting, .absent)
      #expect(second.etag == "v2")
      // A repeated request returns the first response and changes nothing.
      #expect(try await component.record(anna, meeting, .present, requestID: "r1") == first)
      #expect(try await component.figures(anna).absentCount == 1)
      #expect(
        await refusal { try await component.record(anna, meeting, .excused, requestID: "r1") }
          == "FAILED_PRECONDITION REQUEST_ID_REUSED")
      let listed = try await component.attendance.listMeetingAttendance(.init(meetingId: meeting.id), context: admin)
      #expect(listed.attendances == [second])
      #expect(listed.counts?.absent == 1)
    }
  }

  @Test func etagsGuardRecords() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs)
      var request = RecordAttendanceRequest(memberId: anna.id, meetingId: meeting.id, status: .present, etag: "v1")
      #expect(
        await refusal { try await component.attendance.recordAttendance(request, context: admin) }
          == "ABORTED ETAG_MISMATCH")
      request.etag = ""
      _ = try await component.attendance.recordAttendance(request, context: admin)
      request.etag = "v1"
      request.status = .absent
      _ = try await component.attendance.recordAttendance(request, context: admin)
      #expect(
        await refusal { try await component.attendance.recordAttendance(request, context: admin) }
          == "ABORTED ETAG_MISMATCH")
    }
  }

  @Test func meetingAttendanceIsAllOrNothing() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna")
      let late = try await component.makeMember("Late", initiation: "2026-02-01")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs - 10 * Fixture.dayMs, .completed)
      var request = RecordMeetingAttendanceRequest(
        meetingId: meeting.id,
        entries: [anna, late].map { .init(memberId: $0.id, status: .present) })
      let error = await failure { try await component.attendance.recordMeetingAttendance(request, context: admin) }
      #expect(error?.reason == "BEFORE_INITIATION")
      #expect(error?.fieldViolations.first?.field == "entries[1].memberId")
      #expect(try await component.figures(anna).presentCount == 0)
      #expect(try await component.verify().verifiedCount == 3)
      request.entries.removeLast()
      #expect(try await component.attendance.recordMeetingAttendance(request, context: admin).attendances.count == 1)
      request.entries.append(request.entries[0])
      #expect(
        await refusal { try await component.attendance.recordMeetingAttendance(request, context: admin) }
          == "INVALID_ARGUMENT MEMBER_REPEATED")
      request.entries = Array(repeating: request.entries[0], count: 1_001)
      #expect(
        await refusal { try await component.attendance.recordMeetingAttendance(request, context: admin) }
          == "INVALID_ARGUMENT TOO_MANY")
      request.entries = []
      #expect(
        await refusal { try await component.attendance.recordMeetingAttendance(request, context: admin) }
          == "INVALID_ARGUMENT REQUIRED")
      request.entries = [.init(memberId: anna.id), .init(memberId: anna.id, status: .init(rawValue: 9))]
      let invalid = await failure { try await component.attendance.recordMeetingAttendance(request, context: admin) }
      #expect(
        invalid?.fieldViolations.map { "\($0.field) \($0.reason)" } == [
          "entries[0].status ENUM_UNSPECIFIED", "entries[1].status ENUM_UNKNOWN",
        ])
    }
  }

  @Test func membersCanConfirmUntilTheDeadline() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", user: "anna")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs + Fixture.dayMs)
      func confirm(_ status: AttendanceStatus) async throws -> Attendance? {
        try await component.attendance.confirmAttendance(
          .init(meetingId: meeting.id, status: status), context: user("anna")
        ).attendance
      }
      let week = LodgeSettings(lateConfirmation: .init(seconds: 7 * 86_400))
      _ = try await component.lodge.updateLodgeSettings(.init(settings: week), context: admin)
      let confirmed = try await confirm(.present)
      #expect(confirmed?.source == .selfValue)
      #expect(confirmed?.memberId == anna.id)
      #expect(try await confirm(.notConfirmed)?.status == .notConfirmed)
      fixture.clock.advance(by: .milliseconds(Fixture.dayMs + 168 * Fixture.hourMs))
      _ = try await confirm(.present)
      fixture.clock.advance(by: .milliseconds(1))
      #expect(await refusal { try await confirm(.absent) } == "FAILED_PRECONDITION CONFIRMATION_LATE")
      // Staff may still record.
      try await component.record(anna, meeting, .excused)
      // Without the setting, which is off by default, members can confirm for every meeting of every year.
      let unlimited = UpdateLodgeSettingsRequest(
        settings: LodgeSettings(), updateMask: .init(paths: ["late_confirmation"]))
      _ = try await component.lodge.updateLodgeSettings(unlimited, context: admin)
      fixture.clock.advance(by: .milliseconds(6 * 366 * Fixture.dayMs))
      #expect(try await confirm(.absent)?.status == .absent)
    }
  }

  @Test func checkInWorksOnceForEachMember() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", user: "anna")
      _ = try await component.makeMember("Bruno", user: "bruno")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs + Fixture.hourMs)
      func code() async throws -> String {
        try await component.attendance.getCheckInCode(.init(meetingId: meeting.id), context: admin).code
      }
      func checkIn(_ code: String, _ name: String, requestID: String = "") async throws -> CheckInResponse {
        try await component.attendance.checkIn(.init(code: code, requestId: requestID), context: user(name))
      }
      let first = try await code()
      let response = try await checkIn(first, "anna", requestID: "c1")
      #expect(response.attendance?.status == .present)
      #expect(response.attendance?.source == .checkIn)
      #expect(response.meetingDiscussion == "The pillars")
      #expect(try await checkIn(first, "anna", requestID: "c1") == response)
      #expect(await refusal { try await checkIn(first, "anna") } == "FAILED_PRECONDITION CODE_USED")
      _ = try await checkIn(first, "bruno")
      fixture.clock.advance(by: .milliseconds(2 * CheckInCode.stepMs))
      #expect(await refusal { try await checkIn(first, "anna") } == "FAILED_PRECONDITION CODE_EXPIRED")
      #expect(await refusal { try await checkIn(first + "x", "anna") } == "INVALID_ARGUMENT CODE_INVALID")
      // A malformed code and a forged signature get the same error.
      let malformed = await failure { try await checkIn("x", "anna") }
      let forged = await failure {
        try await checkIn(first.prefix(first.utf8.count - 22) + String(repeating: "A", count: 22), "anna")
      }
      #expect(malformed?.reason == "CODE_INVALID" && malformed == forged)
      // The secretary corrects the record, and the member presents a newer code.
      try await component.record(anna, meeting, .absent)
      #expect(try await checkIn(try await code(), "anna").attendance?.status == .present)
      fixture.clock.advance(by: .milliseconds(6 * Fixture.hourMs))
      let late = try await code()
      #expect(await refusal { try await checkIn(late, "anna") } == "FAILED_PRECONDITION CHECK_IN_CLOSED")
      #expect(try await component.maintain(nowMs: fixture.clock.nowMs) >= 3)
    }
  }

  @Test func recordingRejectsUnknownAndCancelledTargets() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", initiation: "2026-02-02", user: "anna")
      let early = try await component.makeMeeting(atMs: fixture.clock.nowMs - Fixture.dayMs)
      let cancelled = try await component.makeMeeting(atMs: fixture.clock.nowMs + Fixture.dayMs, .cancelled)
      var nowhere = Meeting()
      for id in ["t_99", "", "t_0", "m_1", String(repeating: "9", count: 10_000)] {
        nowhere.id = id
        #expect(
          await refusal { try await component.record(anna, nowhere, .present) } == "NOT_FOUND MEETING_NOT_FOUND")
      }
      let stranger = Member(id: "m_99")
      #expect(await refusal { try await component.record(stranger, early, .present) } == "NOT_FOUND MEMBER_NOT_FOUND")
      #expect(
        await refusal { try await component.record(anna, cancelled, .present) }
          == "FAILED_PRECONDITION MEETING_CANCELLED")
      #expect(
        await refusal { try await component.record(anna, early, .present) } == "FAILED_PRECONDITION BEFORE_INITIATION")
      #expect(
        await refusal { try await component.record(anna, early, .unspecified) }
          == "INVALID_ARGUMENT ENUM_UNSPECIFIED")
      #expect(
        await refusal {
          try await component.attendance.confirmAttendance(
            .init(meetingId: cancelled.id, status: .present), context: user("anna"))
        } == "FAILED_PRECONDITION MEETING_CANCELLED")
      #expect(
        await refusal {
          try await component.attendance.getCheckInCode(.init(meetingId: cancelled.id), context: admin)
        } == "FAILED_PRECONDITION MEETING_CANCELLED")
    }
  }

  @Test func aMembersHistoryIsPaged() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna")
      var made: [String] = []
      for day: Int64 in 1...7 {
        let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs - day * 20 * Fixture.dayMs, .completed)
        try await component.record(anna, meeting, .present)
        made.append(meeting.id)
      }
      var request = ListMemberAttendanceRequest(memberId: anna.id, pageSize: 3)
      var found: [String] = []
      repeat {
        let page = try await component.attendance.listMemberAttendance(request, context: admin)
        found += page.attendances.map(\.meetingId)
        request.pageToken = page.nextPageToken
      } while !request.pageToken.isEmpty
      #expect(found == made)
      request.year = 2026
      #expect(try await component.attendance.listMemberAttendance(request, context: admin).attendances.count == 1)
      request.pageToken = "forged"
      #expect(
        await refusal { try await component.attendance.listMemberAttendance(request, context: admin) }
          == "INVALID_ARGUMENT PAGE_TOKEN_INVALID")
    }
  }
}
