import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileStore
import ServiceTesting
import TestSupport
import Testing

@testable import Attendance

@Suite struct AuditTests {
  private func undo(_ component: AttendanceComponent, _ sequence: Int64) async throws -> AuditEntry? {
    try await component.lodge.undoChange(.init(sequence: sequence), context: admin).entry
  }

  private func entries(_ component: AttendanceComponent, _ subject: String = "") async throws -> [AuditEntry] {
    try await component.lodge.listAuditEntries(.init(subject: subject), context: admin).entries
  }

  @Test func auditLogRecordsActorAddressAndStates() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", role: .secretary, user: "anna")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs)
      let secretary = CallContext(
        method: anyMethod, metadata: ["campanile-remote-address": "192.0.2.7"],
        principal: Principal(kind: .user, id: "anna"))
      try await component.record(anna, meeting, .present, secretary)
      try await component.record(anna, meeting, .absent, secretary)
      let log = try await entries(component)
      #expect(log.map(\.sequence) == [4, 3, 2, 1])
      #expect(log.map(\.action) == ["attendance.record", "attendance.record", "meeting.create", "member.create"])
      let last = log[0]
      #expect(last.actor == anna.id)
      #expect(last.address == "192.0.2.7")
      #expect(last.subject == "t_1/m_1")
      #expect(last.oldState?.attendances.first?.status == .present)
      #expect(last.newState?.attendances.first?.status == .absent)
      #expect(try await entries(component, "t_1").count == 1)
      let chain = try await component.verify()
      #expect((chain.intact, chain.verifiedCount, chain.lastHash) == (true, 4, last.hashField))
      #expect(try await component.verify(knownSequence: 2, knownHash: log[2].hashField.uppercased()).intact)
    }
  }

  /// The chain locates any change made directly in the file.
  @Test(
    arguments: [
      ("UPDATE audit SET actor = 'm_9' WHERE sequence = 2", 2, .hashMismatch),
      ("UPDATE audit SET at_ms = at_ms + 1 WHERE sequence = 1", 1, .hashMismatch),
      ("UPDATE audit SET new_json = '{}' WHERE sequence = 2", 2, .valueMismatch),
      ("UPDATE audit SET salt = NULL WHERE sequence = 2", 2, .valueMismatch),
      ("DELETE FROM audit WHERE sequence = 2", 2, .sequenceGap),
      ("DELETE FROM audit WHERE sequence = 1", 1, .sequenceGap),
      ("DELETE FROM audit WHERE sequence >= 3", 3, .sequenceGap),
      ("UPDATE audit SET value_digest = hash WHERE sequence = 3", 3, .hashMismatch),
    ] as [(String, Int64, AuditFault)])
  func verificationDetectsTampering(_ sql: String, _ sequence: Int64, _ fault: AuditFault) async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      for name in ["Anna", "Bruno", "Carla"] { _ = try await component.makeMember(name) }
      let before = try await component.verify()
      try await component.store.write { try $0.execute(sql) }
      // The end is known from before, so a truncated log is detected too.
      let found = try await component.verify(knownSequence: before.lastSequence, knownHash: before.lastHash)
      #expect((found.intact, found.brokenSequence, found.fault) == (false, sequence, fault))
    }
  }

  @Test func knownHashDetectsRewrittenLog() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      _ = try await component.makeMember("Anna")
      let known = try await component.verify()
      try await component.store.write { try $0.execute("DELETE FROM audit") }
      _ = try await component.makeMember("Bruno")
      #expect(try await component.verify().intact)
      let found = try await component.verify(knownSequence: 1, knownHash: known.lastHash)
      #expect(found.fault == .knownHashMismatch)
    }
  }

  @Test func attendanceChangesCanBeUndoneInReverseOrder() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs - Fixture.dayMs, .completed)
      try await component.record(anna, meeting, .present)
      try await component.record(anna, meeting, .absent)
      // Entry 3 is no longer the current state.
      #expect(await refusal { try await undo(component, 3) } == "ABORTED CHANGED_SINCE")
      let undone = try await undo(component, 4)
      #expect(undone?.undoOf == 4)
      #expect(undone?.action == "undo")
      #expect(try await component.figures(anna).presentCount == 1)
      #expect(await refusal { try await undo(component, 4) } == "ABORTED CHANGED_SINCE")
      // Undoing the undo restores the change.
      _ = try await undo(component, 5)
      #expect(try await component.figures(anna).absentCount == 1)
      let other = try await component.makeMeeting(atMs: fixture.clock.nowMs - 2 * Fixture.dayMs, .completed)
      try await component.record(anna, other, .present)
      _ = try await undo(component, 8)
      #expect(
        try await component.attendance.listMeetingAttendance(.init(meetingId: other.id), context: admin).attendances
          .isEmpty)
      _ = try await undo(component, 9)
      #expect(try await component.figures(anna).presentCount == 1)
      #expect(try await component.verify().intact)
    }
  }

  @Test func recordsOfAMeetingCanBeUndoneAndRedone() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna")
      let bruno = try await component.makeMember("Bruno")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs - Fixture.dayMs, .completed)
      try await component.record(anna, meeting, .absent)
      let request = RecordMeetingAttendanceRequest(
        meetingId: meeting.id, entries: [anna, bruno].map { .init(memberId: $0.id, status: .present) })
      _ = try await component.attendance.recordMeetingAttendance(request, context: admin)
      func records() async throws -> [AttendanceStatus] {
        try await component.attendance.listMeetingAttendance(.init(meetingId: meeting.id), context: admin)
          .attendances.compactMap(\.status)
      }
      _ = try await undo(component, 5)
      #expect(try await records() == [.absent])
      _ = try await undo(component, 6)
      #expect(try await records() == [.present, .present])
      #expect(try await component.figures(bruno).presentCount == 1)
      _ = try await undo(component, 7)
      #expect(try await records() == [.absent])
      #expect(try await component.verify().intact)
    }
  }

  @Test func memberAndMeetingChangesCanBeUndone() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna", initiation: "2020-01-01")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs - Fixture.dayMs, .completed)
      try await component.record(anna, meeting, .present)
      let change = Member(id: anna.id, initiationDate: "2026-02-02")
      _ = try await component.members.updateMember(.init(member: change), context: admin)
      #expect(try await component.figures(anna).eligibleCount == 0)
      _ = try await undo(component, 4)
      #expect(try await component.figures(anna).presentCount == 1)
      try await component.setStatus(meeting, .cancelled)
      #expect(try await component.figures(anna).eligibleCount == 0)
      _ = try await undo(component, 6)
      #expect(try await component.figures(anna).presentCount == 1)
      // A deleted meeting is restored with its number and attendance.
      _ = try await component.meetings.deleteMeeting(.init(meetingId: meeting.id, force: true), context: admin)
      _ = try await undo(component, 8)
      #expect(try await component.figures(anna).presentCount == 1)
      #expect(
        try await component.meetings.getMeeting(.init(meetingId: meeting.id), context: admin).meeting?.discussion
          == meeting.discussion)
      // Undoing that deletes it again with the restored records; later records prevent it.
      _ = try await undo(component, 9)
      #expect(try await component.figures(anna) == AttendanceStatistics())
      _ = try await undo(component, 10)
      try await component.record(anna, meeting, .absent)
      #expect(await refusal { try await undo(component, 11) } == "FAILED_PRECONDITION MEETING_HAS_ATTENDANCE")
      #expect(try await component.figures(anna).absentCount == 1)
      let empty = try await component.makeMeeting(atMs: fixture.clock.nowMs)
      _ = try await undo(component, 13)
      #expect(
        await refusal { try await component.meetings.getMeeting(.init(meetingId: empty.id), context: admin) }
          == "NOT_FOUND MEETING_NOT_FOUND")
    }
  }

  @Test func someEntriesCannotBeUndone() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      _ = try await component.makeMember("Anna", pin: "471147")
      _ = try await component.lodge.updateLodgeSettings(
        .init(settings: LodgeSettings(lateConfirmation: .init(seconds: 3_600))), context: admin)
      for sequence: Int64 in 1...3 {
        #expect(await refusal { try await undo(component, sequence) } == "FAILED_PRECONDITION NOT_UNDOABLE")
      }
      for sequence: Int64 in [0, -1, 99, .max] {
        #expect(await refusal { try await undo(component, sequence) } == "NOT_FOUND AUDIT_ENTRY_NOT_FOUND")
      }
    }
  }

  @Test func repeatedUndoIsNotUndone() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let anna = try await component.makeMember("Anna")
      let meeting = try await component.makeMeeting(atMs: fixture.clock.nowMs - Fixture.dayMs, .completed)
      try await component.record(anna, meeting, .present)
      let request = UndoChangeRequest(sequence: 3, requestId: "u1")
      let undone = try await component.lodge.undoChange(request, context: admin)
      #expect(undone.entry?.undoOf == 3)
      #expect(try await component.lodge.undoChange(request, context: admin) == undone)
      #expect(try await component.verify().verifiedCount == 4)
      #expect(await refusal { try await undo(component, 3) } == "ABORTED CHANGED_SINCE")
    }
  }
}
