import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import ServiceTesting
import TestSupport
import Testing

@testable import Attendance

@Suite struct ChangesTests {
  private func names(_ response: ListChangesResponse) -> [String] { response.changes.map(Self.name) }

  private static func name(_ change: RosterChange) -> String {
    switch change.change {
    case .member(let member): "\(member.id) \(member.name)\(member.email.isEmpty ? "" : " " + member.email)"
    case .meeting(let meeting): meeting.id
    case .attendance(let attendance): "\(attendance.meetingId)/\(attendance.memberId) \(attendance.status.rawValue)"
    case .deletedMeetingId(let id): "-\(id)"
    case .deletedAttendance(let attendance): "-\(attendance.meetingId)/\(attendance.memberId)"
    case nil: "nothing"
    }
  }

  @Test func listChangesReturnsEachObjectOnce() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", user: "anna")
      let bruno = try await component.makeMember("Bruno", user: "bruno")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs)
      try await component.record(anna, meeting, .present)
      try await component.record(bruno, meeting, .present)
      try await component.record(bruno, meeting, .absent)
      func all(_ context: CallContext, since: String = "") async throws -> (names: [String], since: String) {
        var request = ListChangesRequest(since: since, pageSize: 2)
        var found: [String] = []
        while true {
          let page = try await component.attendance.listChanges(request, context: context)
          found += names(page)
          request.since = page.nextSince
          if !page.hasMore { return (found, request.since) }
        }
      }
      let staff = try await all(admin)
      #expect(staff.names == ["m_1 Anna", "m_2 Bruno", "t_1", "t_1/m_1 1", "t_1/m_2 2"])
      let own = try await all(user("anna"))
      #expect(own.names == ["m_1 Anna", "m_2 Bruno", "t_1", "t_1/m_1 1"])
      #expect(try await all(admin, since: staff.since).names == [])
      let change = Member(id: bruno.id, email: "bruno@example.org")
      _ = try await component.members.updateMember(.init(member: change), context: admin)
      // Undoing entry 4 deletes a record.
      _ = try await component.lodge.undoChange(.init(sequence: 4), context: admin)
      #expect(try await all(admin, since: staff.since).names == ["m_2 Bruno bruno@example.org", "-t_1/m_1"])
      #expect(try await all(user("anna"), since: own.since).names == ["m_2 Bruno", "-t_1/m_1"])
      #expect(try await all(user("bruno")).names == ["m_1 Anna", "t_1", "t_1/m_2 2", "m_2 Bruno bruno@example.org"])
      _ = try await component.meetings.deleteMeeting(.init(meetingId: meeting.id, force: true), context: admin)
      #expect(try await all(user("anna"), since: own.since).names == ["m_2 Bruno", "-t_1/m_1", "-t_1"])
    }
  }

  @Test func tokensBelongToTheirCallerRoleAndDatabase() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", user: "anna")
      _ = try await component.makeMember("Bruno", user: "bruno")
      func list(_ context: CallContext, _ since: String) async throws -> ListChangesResponse {
        try await component.attendance.listChanges(.init(since: since), context: context)
      }
      let token = try await list(user("anna"), "").nextSince
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
            try await component.attendance.listChanges(.init(since: token), context: user("anna"))
          } == "OUT_OF_RANGE TOKEN_TOO_OLD")
      }
    }
  }

  @Test func tokensExpireWithTombstones() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      _ = try await component.makeMember("Anna")
      let start = try await component.attendance.listChanges(.init(), context: admin).nextSince
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs)
      _ = try await component.meetings.deleteMeeting(.init(meetingId: meeting.id), context: admin)
      fixture.clock.advance(ms: AttendanceLimits().tombstoneAgeMaxMs + 1)
      #expect(try await component.maintain(nowMs: fixture.clock.nowMs) > 0)
      #expect(
        await refusal { try await component.attendance.listChanges(.init(since: start), context: admin) }
          == "OUT_OF_RANGE TOKEN_TOO_OLD")
      #expect(names(try await component.attendance.listChanges(.init(), context: admin)) == ["m_1 Anna"])
    }
  }

  /// A watch sends the current objects, the mark that all were sent, and then every commit.
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
          ).run(since: "", authenticate: { try component.attendance.access.caller(user("anna"), .member) }) {
            response in
            switch response.event {
            case .reached: continuation.yield("reached")
            case .change(let change): continuation.yield(Self.name(change))
            case nil: continuation.yield("nothing")
            }
          }
        }
      }
      var iterator = events.makeAsyncIterator()
      for expected in ["m_1 Anna", "m_2 Bruno", "t_1", "reached"] { #expect(await iterator.next() == expected) }
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
}
