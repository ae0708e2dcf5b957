import CampanileAPI
import CampanileCodec
import CampanileRPC
import ServiceTesting
import TestSupport
import Testing

@testable import Attendance

/// Data that earlier versions have written are the same after the upgrade.
@Suite struct GoldenDataTests {
  private static let golden = GoldenData()

  @Test(arguments: golden.dumps) func dataOfEarlierVersionsAreUnchanged(_ dump: GoldenData.Dump) async throws {
    let fixture = try Fixture()
    try await Self.golden.load(
      dump, into: fixture.folder.file("attendance.sqlite"), migrations: AttendanceMigrations.all)
    fixture.clock.advance(by: .milliseconds(10 * Fixture.dayMs))
    try await fixture.run { component in
      #expect(try await answers(component) == Self.golden.answers(dump))
      // The PIN and the session of an earlier version are still valid.
      _ = try await component.login("Ada Astolfi", "482913")
    }
  }

  @Test(.whenWritingGoldenData) func writeData() async throws {
    let fixture = try Fixture()
    var answers: [String] = []
    try await fixture.run { component in
      let ada = try await component.makeMember("Ada Astolfi", initiation: "2020-03-01", role: .secretary, pin: "482913")
      let bea = try await component.makeMember("Bea Baldi", user: "bea")
      let past = try await component.makeMeeting(atMs: fixture.clock.nowMs - Fixture.dayMs)
      let next = try await component.makeMeeting(atMs: fixture.clock.nowMs + 20 * Fixture.dayMs, .scheduled, "Sequoia")
      let off = try await component.makeMeeting(atMs: fixture.clock.nowMs + 30 * Fixture.dayMs)
      try await component.record(ada, past, .present)
      try await component.record(bea, past, .excused)
      try await component.record(bea, past, .absent)
      try await component.record(bea, next, .present)
      _ = try await component.meetings.cancelMeeting(.init(meetingId: off.id), context: admin)
      fixture.clock.advance(by: .milliseconds(10 * Fixture.dayMs))
      answers = try await self.answers(component)
    }
    try Self.golden.write(fixture.folder.file("attendance.sqlite"), answers: answers)
  }

  private func answers(_ component: AttendanceComponent) async throws -> [String] {
    let members = try await component.members.listMembers(.init(), context: admin)
    var answers = try await [
      members.jsonString(),
      component.meetings.listMeetings(.init(), context: admin).jsonString(),
      component.meetings.listUpcomingMeetings(.init(), context: admin).jsonString(),
      component.statistics.listMemberSummaries(.init(), context: admin).jsonString(),
      component.lodge.getLodgeSettings(.init(), context: admin).jsonString(),
      component.lodge.listAuditEntries(.init(), context: admin).jsonString(),
      component.verify().jsonString(),
      component.exportCsv(.attendance).replacing("\n", with: "|"),
    ]
    for member in members.members {
      answers.append(
        try await component.attendance.listMemberAttendance(.init(memberId: member.id), context: admin).jsonString())
      answers.append(try await component.figures(member).jsonString())
    }
    return answers
  }
}
