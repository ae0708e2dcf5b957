import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import ServiceTesting
import TestSupport
import Testing

@testable import Attendance

@Suite struct ChangesTests {
  private func names(_ response: ListRosterChangesResponse) -> [String] { response.changes.map(Self.name) }

  /// Returns the name of a watch's change, or of its other event.
  private static func name(_ response: WatchRosterChangesResponse?) -> String {
    switch response?.event {
    case .started: "started"
    case .reached: "reached"
    case .change(let change): name(change)
    case nil: "nothing"
    }
  }

  private static func name(_ change: RosterChange) -> String {
    switch change.change {
    case .member(let member): "\(member.id) \(member.name)\(member.email.isEmpty ? "" : " " + member.email)"
    case .meeting(let meeting): meeting.id
    case .attendance(let attendance): "\(attendance.meetingId)/\(attendance.memberId) \(attendance.status.rawValue)"
    case .meetingDeleted(let deleted): "-\(deleted.meetingId)"
    case .attendanceDeleted(let deleted): "-\(deleted.meetingId)/\(deleted.memberId)"
    case nil: "nothing"
    }
  }

  @Test func listReturnsEachObjectOnce() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", user: "anna")
      let bruno = try await component.makeMember("Bruno", user: "bruno")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs)
      try await component.record(anna, meeting, .present)
      try await component.record(bruno, meeting, .present)
      try await component.record(bruno, meeting, .absent)
      // `from_start` is ignored with a token.
      func all(_ context: CallContext, since token: String = "") async throws -> (names: [String], token: String) {
        var request = ListRosterChangesRequest(resumeToken: token, pageSize: 2, fromStart: true)
        var found: [String] = []
        while true {
          let page = try await component.attendance.listRosterChanges(request, context: context)
          found += names(page)
          request.resumeToken = page.resumeToken
          if !page.hasMore { return (found, request.resumeToken) }
        }
      }
      let staff = try await all(admin)
      #expect(staff.names == ["m_1 Anna", "m_2 Bruno", "t_1", "t_1/m_1 1", "t_1/m_2 2"])
      let own = try await all(user("anna"))
      #expect(own.names == ["m_1 Anna", "m_2 Bruno", "t_1", "t_1/m_1 1"])
      #expect(try await all(admin, since: staff.token).names == [])
      let change = Member(id: bruno.id, email: "bruno@example.org")
      _ = try await component.members.updateMember(.init(member: change), context: admin)
      // Undoing entry 4 deletes a record.
      _ = try await component.lodge.undoChange(.init(sequence: 4), context: admin)
      #expect(try await all(admin, since: staff.token).names == ["m_2 Bruno bruno@example.org", "-t_1/m_1"])
      #expect(try await all(user("anna"), since: own.token).names == ["m_2 Bruno", "-t_1/m_1"])
      #expect(try await all(user("bruno")).names == ["m_1 Anna", "t_1", "t_1/m_2 2", "m_2 Bruno bruno@example.org"])
      _ = try await component.meetings.deleteMeeting(.init(meetingId: meeting.id, force: true), context: admin)
      #expect(try await all(user("anna"), since: own.token).names == ["m_2 Bruno", "-t_1/m_1", "-t_1"])
    }
  }

  @Test func tokensBelongToTheirCallerRoleAndDatabase() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", user: "anna")
      _ = try await component.makeMember("Bruno", user: "bruno")
      func list(_ context: CallContext, _ token: String) async throws -> ListRosterChangesResponse {
        try await component.attendance.listRosterChanges(.init(resumeToken: token), context: context)
      }
      let token = try await list(user("anna"), "").resumeToken
      #expect(await refusal { try await list(user("bruno"), token) } == "INVALID_ARGUMENT RESUME_TOKEN_INVALID")
      for forged in ["x", token + "A", String(repeating: "A", count: 5_000)] {
        #expect(await refusal { try await list(user("anna"), forged) } == "INVALID_ARGUMENT RESUME_TOKEN_INVALID")
      }
      let change = Member(id: anna.id, role: .secretary)
      _ = try await component.members.updateMember(.init(member: change), context: admin)
      #expect(await refusal { try await list(user("anna"), token) } == "OUT_OF_RANGE TOKEN_TOO_OLD")
      let other = try Fixture()
      try await other.run { component in
        _ = try await component.makeMember("Anna", user: "anna")
        #expect(
          await refusal {
            try await component.attendance.listRosterChanges(.init(resumeToken: token), context: user("anna"))
          } == "OUT_OF_RANGE TOKEN_TOO_OLD")
      }
    }
  }

  @Test func tokensExpireWithTombstones() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      _ = try await component.makeMember("Anna")
      let start = try await component.attendance.listRosterChanges(.init(), context: admin).resumeToken
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs)
      _ = try await component.meetings.deleteMeeting(.init(meetingId: meeting.id), context: admin)
      fixture.clock.advance(by: .milliseconds(AttendanceLimits().tombstoneAgeMaxMs + 1))
      #expect(try await component.maintain(nowMs: fixture.clock.nowMs) > 0)
      #expect(
        await refusal {
          try await component.attendance.listRosterChanges(.init(resumeToken: start, fromStart: true), context: admin)
        } == "OUT_OF_RANGE TOKEN_TOO_OLD")
      #expect(
        names(try await component.attendance.listRosterChanges(.init(fromStart: true), context: admin))
          == ["m_1 Anna"])
    }
  }

  /// Without a token, the list has no changes and a token of the present.
  @Test func anEmptyTokenIsThePresent() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", user: "anna")
      let first = try await component.attendance.listRosterChanges(.init(), context: user("anna"))
      #expect(first.changes.isEmpty && !first.hasMore && !first.resumeToken.isEmpty)
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs)
      try await component.record(anna, meeting, .present)
      let next = try await component.attendance.listRosterChanges(
        .init(resumeToken: first.resumeToken), context: user("anna"))
      #expect(names(next) == ["t_1", "t_1/m_1 1"])
      #expect(
        await refusal { try await component.attendance.listRosterChanges(.init(pageSize: -1), context: admin) }
          == "INVALID_ARGUMENT OUT_OF_RANGE")
    }
  }

  /// The token of every list is from before its page: changes from there on are not missed.
  @Test func listsReturnATokenOfThePresent() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", user: "anna")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs + Fixture.dayMs)
      let tokens = [
        try await component.members.listMembers(.init(), context: user("anna")).resumeToken,
        try await component.meetings.listMeetings(.init(), context: user("anna")).resumeToken,
        try await component.meetings.listUpcomingMeetings(.init(), context: user("anna")).resumeToken,
        try await component.attendance.listMeetingAttendance(.init(meetingId: meeting.id), context: user("anna"))
          .resumeToken,
        try await component.attendance.listMemberAttendance(.init(memberId: anna.id), context: user("anna"))
          .resumeToken,
      ]
      try await component.record(anna, meeting, .present)
      for token in tokens {
        let page = try await component.attendance.listRosterChanges(.init(resumeToken: token), context: user("anna"))
        #expect(names(page) == ["t_1/m_1 1"])
      }
    }
  }

  /// A watch from the start sends the current objects, the mark that all were sent, and then every commit.
  @Test func watchStreamsCommitsAfterCurrentState() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", user: "anna")
      let bruno = try await component.makeMember("Bruno")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs)
      let (events, continuation) = AsyncStream.makeStream(of: String.self)
      let task = Task {
        await failure {
          try await RosterWatch(
            repository: component.repository, hub: component.attendance.hub, notifier: component.attendance.notifier
          ).run(
            .init(fromStart: true),
            authenticate: { try await component.attendance.access.caller(user("anna"), .member) }
          ) { response in
            #expect(!response.resumeToken.isEmpty)
            continuation.yield(Self.name(response))
          }
        }
      }
      var iterator = events.makeAsyncIterator()
      for expected in ["started", "m_1 Anna", "m_2 Bruno", "t_1", "reached"] {
        #expect(await iterator.next() == expected)
      }
      // Records of other members are not sent.
      try await component.record(bruno, meeting, .present)
      try await component.record(anna, meeting, .present)
      #expect(await iterator.next() == "t_1/m_1 1")
      try await component.setStatus(meeting, .completed)
      #expect(await iterator.next() == "t_1")
      #expect(component.watchCount == 1)
      // A former member receives nothing more.
      _ = try await component.members.deactivateMember(.init(memberId: anna.id), context: admin)
      #expect(await task.value?.reason == "MEMBER_UNKNOWN")
      #expect(component.watchCount == 0)
    }
  }

  /// Without a token a watch begins at the present; with one, after it, even if `from_start` is set.
  @Test(arguments: [false, true])
  func watchBeginsAtItsToken(_ hasToken: Bool) async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna")
      let token = try await component.members.listMembers(.init(), context: admin).resumeToken
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs)
      let (events, continuation) = AsyncStream.makeStream(of: WatchRosterChangesResponse.self)
      let task = Task {
        try await RosterWatch(
          repository: component.repository, hub: component.attendance.hub, notifier: component.attendance.notifier
        ).run(
          .init(resumeToken: hasToken ? token : "", fromStart: hasToken),
          authenticate: { try await component.attendance.access.caller(admin, .member) }
        ) { continuation.yield($0) }
      }
      var iterator = events.makeAsyncIterator()
      let started = try #require(await iterator.next())
      #expect(Self.name(started) == "started")
      if hasToken { #expect(Self.name(await iterator.next()) == "t_1") }
      #expect(Self.name(await iterator.next()) == "reached")
      try await component.record(anna, meeting, .present)
      #expect(Self.name(await iterator.next()) == "t_1/m_1 1")
      // The token of the start resumes after everything before it.
      let page = try await component.attendance.listRosterChanges(
        .init(resumeToken: started.resumeToken), context: admin)
      #expect(names(page) == (hasToken ? ["t_1", "t_1/m_1 1"] : ["t_1/m_1 1"]))
      task.cancel()
      _ = await task.result
    }
  }
}
