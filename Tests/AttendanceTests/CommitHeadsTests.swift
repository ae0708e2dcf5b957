import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore
import ServiceTesting
import TestSupport
import Testing

@testable import Attendance

/// Sequences and the audit chain are shared by the writes of one commit.
@Suite struct CommitHeadsTests {
  /// Mixes writes that fail before or after a change with successful ones. Each round is one burst, which the writer
  /// commits in few transactions.
  @Test func failingWritesDoNotAffectAuditChain() async throws {
    let fixture = try Fixture()
    var expected: Int64 = 0
    for round in 0..<3 {
      try await fixture.run { component in
        if round == 0 {
          for number in 1...40 { _ = try await component.makeMember("Member \(number)") }
          _ = try await component.makeMeeting(atMs: fixture.clock.nowMs)
          expected = 41
        }
        let status: AttendanceStatus = round % 2 == 0 ? .present : .absent
        await withTaskGroup(of: Void.self) { group in
          for number in 1...40 {
            group.addTask { await Self.record(number, status, in: component) }
            switch number % 4 {
            case 0:
              // Rejected after a change: the whole import is rolled back.
              group.addTask {
                _ = try? await component.importCsv(
                  .members, "name,degree\nNew \(number),MASTER\nOther \(number),MASTER\n", isDryRun: true)
              }
            case 1: group.addTask { await Self.record(number, status, etag: "v99", in: component) }
            default: group.addTask { await Self.record(1_000 + number, status, in: component) }
            }
          }
        }
        expected += 40
        let chain = try await component.verify()
        #expect((chain.intact, chain.verifiedCount, chain.lastSequence) == (true, expected, expected))
        try await Self.checkSequences(component)
      }
    }
  }

  private static func record(
    _ member: Int, _ status: AttendanceStatus, etag: String = "", in component: AttendanceComponent
  ) async {
    let found = await refusal {
      try await component.attendance.recordAttendance(
        .init(memberId: "m_\(member)", meetingId: "t_1", status: status, etag: etag), context: admin)
    }
    switch (member, etag) {
    case (1_000..., _): #expect(found == "NOT_FOUND MEMBER_NOT_FOUND")
    case (_, "v99"): #expect(found == "ABORTED ETAG_MISMATCH")
    default: #expect(found == "")
    }
  }

  /// Every sequence is unique, and the counter is at or beyond the last one.
  private static func checkSequences(_ component: AttendanceComponent) async throws {
    let found = try component.store.readBlocking { transaction in
      (
        sequences: try transaction.query(
          "SELECT sequence FROM members UNION ALL SELECT sequence FROM meetings UNION ALL SELECT sequence FROM attendance"
        ) { try $0.integer(0) },
        counter: try transaction.queryOne(CommitHeads.readSQL) { try $0.integer(0) }
      )
    }
    #expect(Set(found.sequences).count == found.sequences.count)
    #expect(found.sequences.count == 81)
    #expect(try #require(found.sequences.max()) <= #require(found.counter))
  }
}
