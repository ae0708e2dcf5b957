import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore
import FoundationEssentials
import ServiceTesting
import TestSupport
import Testing

@testable import Attendance

/// A deterministic generator of numbers from a seed.
struct SplitMix {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(1, bound))) }
}

/// Random histories. Every failure reports its seed; CAMPANILE_SEED replays one.
@Suite struct ModelTests {
  @Test func statisticsEqualRecountAfterRandomHistories() async throws {
    let seed =
      ProcessInfo.processInfo.environment["CAMPANILE_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 0 ... .max)
    var source = SplitMix(state: seed)
    let fixture = try Fixture()
    var component = try await fixture.open()
    var oracle = Oracle()
    // The last change and the state before it.
    var last: (sequence: Int64, before: Oracle)?
    for step in 0..<900 {
      let (before, sequence) = (oracle, try await component.lastSequence())
      if let change = last, source.below(12) == 0 {
        if try await Self.undo(component, change.sequence, "seed \(seed) step \(step)") { oracle = change.before }
      } else {
        try await Self.step(component, &oracle, fixture.clock.nowMs, &source)
      }
      let now = try await component.lastSequence()
      if now != sequence { last = now == sequence + 1 ? (now, before) : nil }
      fixture.clock.advance(by: .milliseconds(Int64(source.below(5)) * Fixture.hourMs))
      if step % 200 == 199 {
        await component.close()
        component = try await fixture.open()
      }
      if step % 20 == 19 {
        try await Self.compare(component, oracle, fixture.clock.nowMs, &source, "seed \(seed) step \(step)")
      }
    }
    #expect(try await component.verify().intact, "seed \(seed)")
    await component.close()
  }

  private static func step(
    _ component: AttendanceComponent, _ oracle: inout Oracle, _ nowMs: Int64, _ source: inout SplitMix
  ) async throws {
    let meetings = oracle.meetings.keys.sorted()
    let members = oracle.initiation.keys.sorted()
    let meeting = meetings.isEmpty ? 0 : meetings[source.below(meetings.count)]
    let member = members.isEmpty ? 0 : members[source.below(members.count)]
    switch source.below(24) {
    case 0:
      let made = try await component.makeMember("Member \(source.next())", initiation: date(nowMs, &source))
      oracle.initiation[made.number] = made.initiationDate
      oracle.names[made.number] = made.name
    case 1:
      guard member > 0 else { return }
      let change = Member(id: AttendanceIDs.memberID(member), initiationDate: date(nowMs, &source))
      let request = UpdateMemberRequest(member: change, updateMask: ProtoFieldMask(paths: ["initiation_date"]))
      let reason = await refusal { try await component.members.updateMember(request, context: admin) }
      #expect(reason == (oracle.erased.contains(member) ? "FAILED_PRECONDITION MEMBER_ERASED" : ""))
      if reason.isEmpty { oracle.initiation[member] = change.initiationDate }
    case 2...5:
      let startMs = start(nowMs, &source)
      let status: MeetingStatus = startMs <= nowMs && source.below(2) == 0 ? .completed : .scheduled
      let made = try await component.makeMeeting(atMs: startMs, status)
      oracle.meetings[made.number] = .init(startMs: startMs, number: made.number, status: status)
    case 6...8:
      guard let entry = oracle.meetings[meeting] else { return }
      var change = Meeting(id: AttendanceIDs.meetingID(meeting))
      var next = entry
      if source.below(2) == 0 { next.startMs = start(nowMs, &source) }
      next.status = [.scheduled, .completed, .cancelled][source.below(3)]
      change.startTime = ProtoTimestamp(millisecondsSince1970: next.startMs)
      change.status = next.status
      let reason = await refusal {
        try await component.meetings.updateMeeting(.init(meeting: change), context: admin)
      }
      let isAhead = next.status == .completed && next.startMs > nowMs
      #expect(
        reason
          == (isAhead && next.startMs != entry.startMs || isAhead && next.status != entry.status
            ? "FAILED_PRECONDITION MEETING_NOT_BEGUN" : ""))
      if reason.isEmpty { oracle.meetings[meeting] = next }
    case 9 where source.below(4) == 0:
      guard meeting > 0 else { return }
      _ = try await component.meetings.deleteMeeting(
        .init(meetingId: AttendanceIDs.meetingID(meeting), force: true), context: admin)
      oracle.meetings[meeting] = nil
      oracle.records = oracle.records.filter { $0.key[0] != meeting }
    case 10 where source.below(4) == 0: try await changeSettings(component, &oracle, &source)
    case 11: try await batch(component, &oracle, meeting, members, &source)
    case 12: if member > 0 { try await leave(component, &oracle, member, &source) }
    case 13: if meeting > 0, member > 0 { try await importRow(component, &oracle, meeting, member, &source) }
    default:
      guard meeting > 0, member > 0 else { return }
      try await record(component, &oracle, meeting, member, &source)
    }
  }

  private static let statuses: [AttendanceStatus] = [.present, .present, .present, .absent, .excused, .notConfirmed]

  private static func record(
    _ component: AttendanceComponent, _ oracle: inout Oracle, _ meeting: Int64, _ member: Int64,
    _ source: inout SplitMix
  ) async throws {
    let status = statuses[source.below(statuses.count)]
    let reason = await refusal {
      try await component.attendance.recordAttendance(
        .init(memberId: AttendanceIDs.memberID(member), meetingId: AttendanceIDs.meetingID(meeting), status: status),
        context: admin)
    }
    #expect(reason == oracle.refusal(meeting, member))
    if reason.isEmpty { oracle.records[[meeting, member]] = status }
  }

  /// Undoes the last change. Returns false if it cannot be undone.
  private static func undo(_ component: AttendanceComponent, _ sequence: Int64, _ label: String) async throws -> Bool {
    let entry = try await component.lodge.listAuditEntries(.init(pageSize: 1), context: admin).entries[0]
    let reason = await refusal {
      try await component.lodge.undoChange(.init(sequence: sequence), context: admin)
    }
    let isUndoable = !["member.create", "member.erase", "settings.update"].contains(entry.action)
    #expect(reason == (isUndoable ? "" : "FAILED_PRECONDITION NOT_UNDOABLE"), "\(label) \(entry.action)")
    return isUndoable
  }

  /// Deactivates, reactivates or erases a member. Past attendance remains in each case.
  private static func leave(
    _ component: AttendanceComponent, _ oracle: inout Oracle, _ member: Int64, _ source: inout SplitMix
  ) async throws {
    let id = AttendanceIDs.memberID(member)
    if oracle.erased.contains(member) || source.below(4) == 0 {
      let name = oracle.names[member] ?? ""
      _ = try await component.members.eraseMember(.init(memberId: id, confirmName: name), context: admin)
      oracle.erased.insert(member)
      oracle.inactive.insert(member)
      oracle.names[member] = "Erased \(id)"
    } else if oracle.inactive.remove(member) != nil {
      _ = try await component.members.reactivateMember(.init(memberId: id), context: admin)
    } else {
      _ = try await component.members.deactivateMember(.init(memberId: id), context: admin)
      oracle.inactive.insert(member)
    }
  }

  private static func importRow(
    _ component: AttendanceComponent, _ oracle: inout Oracle, _ meeting: Int64, _ member: Int64,
    _ source: inout SplitMix
  ) async throws {
    let status = statuses[source.below(statuses.count)]
    let word = CsvWords.statuses.word(status, isItalian: false)
    let isDryRun = source.below(4) == 0
    let found = try await component.importCsv(
      .attendance, "member_id,meeting_id,status\nm_\(member),t_\(meeting),\(word)\n", isDryRun: isDryRun)
    let expected = oracle.refusal(meeting, member)
    #expect(found.errors.map(\.reason) == expected.split(separator: " ").dropFirst().map(String.init))
    #expect(found.committed == (expected.isEmpty && !isDryRun))
    if found.committed { oracle.records[[meeting, member]] = status }
  }

  /// Records several statuses at a meeting: all entries or none.
  private static func batch(
    _ component: AttendanceComponent, _ oracle: inout Oracle, _ meeting: Int64, _ members: [Int64],
    _ source: inout SplitMix
  ) async throws {
    guard meeting > 0, !members.isEmpty else { return }
    var entries: [RecordMeetingAttendanceRequest.AttendanceEntry] = []
    for member in members where source.below(3) > 0 {
      let entry = RecordMeetingAttendanceRequest.AttendanceEntry(
        memberId: AttendanceIDs.memberID(member), status: statuses[source.below(statuses.count)])
      entries.append(entry)
    }
    guard !entries.isEmpty else { return }
    let request = RecordMeetingAttendanceRequest(meetingId: AttendanceIDs.meetingID(meeting), entries: entries)
    let reason = await refusal { try await component.attendance.recordMeetingAttendance(request, context: admin) }
    let first = entries.compactMap { entry -> String? in
      let reason = oracle.refusal(meeting, AttendanceIDs.member(entry.memberId) ?? 0)
      return reason.isEmpty ? nil : reason
    }.first
    #expect(reason == first ?? "")
    guard reason.isEmpty else { return }
    for entry in entries { oracle.records[[meeting, AttendanceIDs.member(entry.memberId) ?? 0]] = entry.status }
  }

  private static func changeSettings(
    _ component: AttendanceComponent, _ oracle: inout Oracle, _ source: inout SplitMix
  ) async throws {
    let settings = LodgeSettings(
      timeZone: ["Europe/Rome", "Pacific/Auckland", "America/Los_Angeles"][source.below(3)],
      excusedPausesStreak: source.below(2) == 0, excusedLeavesDenominator: source.below(2) == 0)
    _ = try await component.lodge.updateLodgeSettings(
      .init(
        settings: settings,
        updateMask: ProtoFieldMask(paths: ["time_zone", "excused_pauses_streak", "excused_leaves_denominator"])),
      context: admin)
    oracle.calendar = LodgeCalendar(settings.timeZone)
    oracle.rules = settings.countingRules
  }

  private static func compare(
    _ component: AttendanceComponent, _ oracle: Oracle, _ nowMs: Int64, _ source: inout SplitMix, _ label: String
  ) async throws {
    let asOf = date(1_770_000_000_000, &source)
    for member in oracle.initiation.keys {
      let one = Member(id: AttendanceIDs.memberID(member))
      for (year, day) in [(0, ""), (2025, ""), (2026, ""), (0, asOf), (2025, asOf)] as [(Int32, String)] {
        let found = try await component.figures(one, year: year, asOf: day)
        #expect(found == oracle.statistics(member, year: year, asOf: day), "\(label) \(one.id) \(year) \(day)")
      }
    }
    for (year, isAll) in [(0, true), (2025, false)] as [(Int32, Bool)] {
      let lines = try await component.statistics.listMemberSummaries(
        .init(year: year, pageSize: 1_000, includeInactive: isAll), context: admin
      ).summaries
      #expect(lines.count == oracle.initiation.count - (isAll ? 0 : oracle.inactive.count))
      for line in lines {
        #expect(
          line.statistics == oracle.statistics(line.memberNumber, year: year, asOf: ""), "\(label) summary \(year)")
      }
    }
    let since = asOf.isEmpty ? "2025-06-01" : asOf
    let absentees = try await component.statistics.listAbsentees(
      .init(sinceDate: since, pageSize: 1_000), context: admin
    ).absentees
    #expect(absentees == oracle.absentees(since: since), "\(label) since \(since)")
    let target = Int32(1 + source.below(100))
    for member in oracle.initiation.keys {
      let found = try await component.statistics.getForecast(
        .init(memberId: AttendanceIDs.memberID(member), targetPercentage: target), context: admin)
      #expect(
        found == oracle.forecast(member, target: target, nowMs: nowMs), "\(label) forecast \(member) \(target)")
    }
  }

  /// A day within about two years before `nowMs`, or none.
  private static func date(_ nowMs: Int64, _ source: inout SplitMix) -> String {
    source.below(5) == 0 ? "" : Days.text(nowMs / Fixture.dayMs - Int64(source.below(700)))
  }

  /// Some starts coincide, some are around midnight and new year, a few are in the future.
  private static func start(_ nowMs: Int64, _ source: inout SplitMix) -> Int64 {
    switch source.below(6) {
    case 0: 1_767_222_000_000 + Int64(source.below(5)) * Fixture.hourMs
    case 1: nowMs + Int64(1 + source.below(20)) * Fixture.dayMs
    default: nowMs - Int64(source.below(700)) * Fixture.dayMs
    }
  }
}
