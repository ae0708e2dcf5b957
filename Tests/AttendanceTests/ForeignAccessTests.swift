import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import ServiceTesting
import TestSupport
import Testing

@testable import Attendance

/// Calls every unary method without credentials, as a stranger, and with every role. Forbidden calls fail before they
/// reveal or change anything.
@Suite struct ForeignAccessTests {
  private typealias Call = @Sendable (AttendanceComponent, CallContext) async throws -> Void

  /// The permission that a method needs. `own` means the member concerned, or an admin.
  private enum Needs { case member, own, secretary, admin }

  // All calls concern Bruno (m_2), who is not a caller, and the meeting t_1.
  private static let members: [(MethodDescriptor, Needs, Call)] = [
    (
      MembersServiceMethods.createMember, .admin,
      { _ = try await $0.members.createMember(.init(member: Member(name: "New")), context: $1) }
    ),
    (
      MembersServiceMethods.getMember, .member,
      { _ = try await $0.members.getMember(.init(memberId: "m_2"), context: $1) }
    ),
    (MembersServiceMethods.listMembers, .member, { _ = try await $0.members.listMembers(.init(), context: $1) }),
    (
      MembersServiceMethods.updateMember, .own,
      { component, context in
        let change = Member(id: "m_2", email: "a@b")
        _ = try await component.members.updateMember(.init(member: change), context: context)
      }
    ),
    (
      MembersServiceMethods.deactivateMember, .admin,
      { _ = try await $0.members.deactivateMember(.init(memberId: "m_2"), context: $1) }
    ),
    (
      MembersServiceMethods.reactivateMember, .admin,
      { _ = try await $0.members.reactivateMember(.init(memberId: "m_2"), context: $1) }
    ),
    (
      MembersServiceMethods.setMemberPin, .admin,
      { _ = try await $0.members.setMemberPin(.init(memberId: "m_2", pin: "471147"), context: $1) }
    ),
    (
      MembersServiceMethods.removeMemberPin, .admin,
      { _ = try await $0.members.removeMemberPin(.init(memberId: "m_2"), context: $1) }
    ),
    (
      MembersServiceMethods.eraseMember, .admin,
      { _ = try await $0.members.eraseMember(.init(memberId: "m_2", confirmName: "Bruno"), context: $1) }
    ),
    (
      SessionsServiceMethods.listSessions, .own,
      { _ = try await $0.sessions.listSessions(.init(memberId: "m_2"), context: $1) }
    ),
    (
      SessionsServiceMethods.revokeSessions, .own,
      { _ = try await $0.sessions.revokeSessions(.init(memberId: "m_2"), context: $1) }
    ),
  ]

  private static let meetings: [(MethodDescriptor, Needs, Call)] = [
    (
      MeetingsServiceMethods.createMeeting, .secretary,
      { component, context in
        let meeting = Meeting(startTime: ProtoTimestamp(seconds: 1_700_000_000), discussion: "New")
        _ = try await component.meetings.createMeeting(.init(meeting: meeting), context: context)
      }
    ),
    (
      MeetingsServiceMethods.getMeeting, .member,
      { _ = try await $0.meetings.getMeeting(.init(meetingId: "t_1"), context: $1) }
    ),
    (MeetingsServiceMethods.listMeetings, .member, { _ = try await $0.meetings.listMeetings(.init(), context: $1) }),
    (
      MeetingsServiceMethods.listUpcomingMeetings, .member,
      { _ = try await $0.meetings.listUpcomingMeetings(.init(), context: $1) }
    ),
    (
      MeetingsServiceMethods.listMeetingYears, .member,
      { _ = try await $0.meetings.listMeetingYears(.init(), context: $1) }
    ),
    (
      MeetingsServiceMethods.updateMeeting, .secretary,
      { component, context in
        let change = Meeting(id: "t_1", notes: "new")
        _ = try await component.meetings.updateMeeting(.init(meeting: change), context: context)
      }
    ),
    (
      MeetingsServiceMethods.cancelMeeting, .secretary,
      { _ = try await $0.meetings.cancelMeeting(.init(meetingId: "t_1"), context: $1) }
    ),
    (
      MeetingsServiceMethods.deleteMeeting, .secretary,
      { _ = try await $0.meetings.deleteMeeting(.init(meetingId: "t_1", force: true), context: $1) }
    ),
    (
      MeetingsServiceMethods.createCalendarFeed, .member,
      { _ = try await $0.meetings.createCalendarFeed(.init(), context: $1) }
    ),
    (
      MeetingsServiceMethods.listCalendarFeeds, .member,
      { _ = try await $0.meetings.listCalendarFeeds(.init(), context: $1) }
    ),
  ]

  private static let records: [(MethodDescriptor, Needs, Call)] = [
    (
      AttendanceServiceMethods.recordAttendance, .secretary,
      {
        _ = try await $0.attendance.recordAttendance(
          .init(memberId: "m_2", meetingId: "t_1", status: .present), context: $1)
      }
    ),
    (
      AttendanceServiceMethods.recordMeetingAttendance, .secretary,
      { component, context in
        let entry = RecordMeetingAttendanceRequest.AttendanceEntry(memberId: "m_2", status: .present)
        _ = try await component.attendance.recordMeetingAttendance(
          .init(meetingId: "t_1", entries: [entry]), context: context)
      }
    ),
    (
      AttendanceServiceMethods.getCheckInCode, .secretary,
      { _ = try await $0.attendance.getCheckInCode(.init(meetingId: "t_1"), context: $1) }
    ),
    (
      AttendanceServiceMethods.listMeetingAttendance, .member,
      { _ = try await $0.attendance.listMeetingAttendance(.init(meetingId: "t_1"), context: $1) }
    ),
    (
      AttendanceServiceMethods.listMemberAttendance, .member,
      { _ = try await $0.attendance.listMemberAttendance(.init(memberId: "m_2"), context: $1) }
    ),
    (
      AttendanceServiceMethods.listRosterChanges, .member,
      { _ = try await $0.attendance.listRosterChanges(.init(), context: $1) }
    ),
    (
      StatisticsServiceMethods.getMemberStatistics, .member,
      { _ = try await $0.statistics.getMemberStatistics(.init(memberId: "m_2"), context: $1) }
    ),
    (
      StatisticsServiceMethods.listMemberSummaries, .member,
      { _ = try await $0.statistics.listMemberSummaries(.init(), context: $1) }
    ),
    (
      StatisticsServiceMethods.listAbsentees, .secretary,
      { _ = try await $0.statistics.listAbsentees(.init(sinceDate: "2025-01-01"), context: $1) }
    ),
    (
      StatisticsServiceMethods.getForecast, .member,
      { _ = try await $0.statistics.getForecast(.init(memberId: "m_2", targetPercentage: 50), context: $1) }
    ),
    (LodgeServiceMethods.getLodgeSettings, .member, { _ = try await $0.lodge.getLodgeSettings(.init(), context: $1) }),
    (
      LodgeServiceMethods.updateLodgeSettings, .admin,
      {
        _ = try await $0.lodge.updateLodgeSettings(
          .init(settings: LodgeSettings(lateConfirmation: .init(seconds: 7_200))), context: $1)
      }
    ),
    (LodgeServiceMethods.listAuditEntries, .admin, { _ = try await $0.lodge.listAuditEntries(.init(), context: $1) }),
    (
      LodgeServiceMethods.undoChange, .admin,
      { component, context in
        // Create an entry, because unknown entries have another error.
        _ = try await component.members.updateMember(.init(member: Member(id: "m_2", givenName: "B")), context: admin)
        let last = try await component.lodge.listAuditEntries(.init(pageSize: 1), context: admin).entries[0]
        _ = try await component.lodge.undoChange(.init(sequence: last.sequence), context: context)
      }
    ),
  ]

  /// Methods with their own credential (Login, GetCalendar), methods about the calling member, and streams. Other tests
  /// cover them.
  private static let elsewhere: Set<String> = [
    "Login", "GetCalendar", "GetCurrentMember", "Logout", "ChangePin", "ConfirmAttendance", "CheckIn",
    "DeleteCalendarFeed", "ExportMemberData", "ImportCsv", "ExportCsv", "VerifyAuditLog", "WatchRosterChanges",
  ]

  private static var calls: [(MethodDescriptor, Needs, Call)] { members + meetings + records }

  @Test func everyMethodIsCovered() {
    let all =
      MembersServiceMethods.all + MeetingsServiceMethods.all + AttendanceServiceMethods.all
      + StatisticsServiceMethods.all + SessionsServiceMethods.all + LodgeServiceMethods.all
    let names = Set(all.map { String($0.path.split(separator: "/")[1]) })
    #expect(names == Set(Self.calls.map { String($0.0.path.split(separator: "/")[1]) }).union(Self.elsewhere))
  }

  @Test func callersWithoutPermissionAreRejected() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", user: "anna")
      _ = try await component.makeMember("Bruno", user: "bruno")
      _ = try await component.makeMember("Sara", role: .secretary, user: "sara")
      _ = try await component.makeMember("Ada", role: .admin, user: "ada")
      _ = try await component.makeMember("Gone", user: "gone")
      _ = try await component.makeMeeting(atMs: fixture.clock.nowMs)
      _ = try await component.members.deactivateMember(.init(memberId: "m_5"), context: admin)
      let before = try await component.verify().verifiedCount
      for (method, needs, call) in Self.calls where method.path != LodgeServiceMethods.undoChange.path {
        #expect(
          await refusal { try await call(component, nobody) } == "UNAUTHENTICATED PRINCIPAL_MISSING", "\(method.path)")
        for stranger in ["eve", "gone"] {
          #expect(
            await refusal { try await call(component, user(stranger)) } == "PERMISSION_DENIED MEMBER_UNKNOWN",
            "\(method.path)")
        }
        let missing = "PERMISSION_DENIED ROLE_MISSING"
        if needs != .member {
          #expect(await refusal { try await call(component, anna) } == missing, "\(method.path)")
        }
        if needs == .admin || needs == .own {
          #expect(await refusal { try await call(component, user("sara")) } == missing, "\(method.path)")
        }
      }
      // None of the calls changed anything.
      #expect(try await component.verify().verifiedCount == before)
      #expect(
        await refusal { try await Self.undoLast(component, user("sara")) } == "PERMISSION_DENIED ROLE_MISSING")
    }
  }

  private static func undoLast(_ component: AttendanceComponent, _ context: CallContext) async throws {
    _ = try await component.lodge.undoChange(.init(sequence: 1), context: context)
  }

  /// Uses a new lodge for each call, because calls change it.
  @Test func callersWithPermissionSucceed() async throws {
    for (method, needs, call) in Self.calls {
      let fixture = try Fixture()
      try await fixture.run { component in
        _ = try await component.makeMember("Anna", user: "anna")
        _ = try await component.makeMember("Bruno", user: "bruno")
        _ = try await component.makeMember("Sara", role: .secretary, user: "sara")
        _ = try await component.makeMember("Ada", role: .admin, user: "ada")
        _ = try await component.makeMeeting(atMs: fixture.clock.nowMs)
        let caller =
          switch needs {
          case .member: "anna"
          case .own: "bruno"
          case .secretary: "sara"
          case .admin: "ada"
          }
        #expect(await refusal { try await call(component, user(caller)) } == "", "\(method.path)")
      }
    }
  }

  @Test func foreignFeedsLookMissing() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", user: "anna")
      _ = try await component.makeMember("Bruno", user: "bruno")
      let feed = try await component.meetings.createCalendarFeed(.init(), context: anna).feed
      func delete(_ id: String, _ name: String) async -> RPCError? {
        await failure {
          try await component.meetings.deleteCalendarFeed(.init(feedId: id), context: user(name))
        }
      }
      let id = try #require(feed?.id)
      var foreign = try #require(await delete(id, "bruno"))
      let missing = try #require(await delete("f_0", "bruno"))
      foreign.errorMetadata = missing.errorMetadata
      foreign.message = missing.message
      #expect(foreign == missing)
      #expect(await delete(id, "anna") == nil)
    }
  }

  @Test func membersSeeOnlyPublicFieldsOfOthers() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", user: "anna")
      let bruno = try await component.makeMember("Bruno", role: .admin, user: "bruno", pin: "471147")
      func seen(_ context: CallContext) async throws -> Member? {
        try await component.members.getMember(.init(memberId: bruno.id), context: context).member
      }
      let other = try await seen(anna)
      #expect(other?.name == "Bruno")
      #expect(other?.role == .unspecified)
      #expect(other?.userId == "")
      #expect(other?.hasPin == false)
      let own = try await seen(user("bruno"))
      #expect(own?.role == .admin)
      #expect(own?.hasPin == true)
      #expect(
        try await component.members.listMembers(.init(), context: anna).members.map(\.userId) == ["anna", ""])
    }
  }
}
