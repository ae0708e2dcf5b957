import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore
import FoundationEssentials
import Testing

@testable import Attendance

/// Numbers that a seed decides.
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

/// What the lodge should be, and statistics counted from it the slow way, straight from the definition.
private struct Oracle {
  struct Entry {
    var startMs: Int64
    var number: Int64
    var status: MeetingStatus
  }
  var initiation: [Int64: String] = [:]
  var meetings: [Int64: Entry] = [:]
  var records: [[Int64]: AttendanceStatus] = [:]
  var calendar = LodgeCalendar("Europe/Rome")
  var rules = CountingRules()

  func statistics(_ member: Int64, year: Int32, asOf: String) -> AttendanceStatistics {
    let eligible = meetings.values.filter { entry in
      let day = Days.text(calendar?.day(ofMs: entry.startMs) ?? 0)
      return entry.status == .completed && day >= initiation[member] ?? "" && (asOf.isEmpty || day <= asOf)
        && (year == 0 || day.hasPrefix(String(year)))
    }.sorted { ($0.startMs, $0.number) < ($1.startMs, $1.number) }
    let statuses = eligible.map { records[[$0.number, member]] ?? .notConfirmed }
    var figures = AttendanceStatistics()
    figures.eligibleCount = Int32(statuses.count)
    figures.presentCount = Int32(statuses.count { $0 == .present })
    figures.absentCount = Int32(statuses.count { $0 == .absent })
    figures.excusedCount = Int32(statuses.count { $0 == .excused })
    figures.unconfirmedCount = Int32(statuses.count { $0 == .notConfirmed })
    figures.countedCount =
      rules.excusedLeavesDenominator ? figures.eligibleCount - figures.excusedCount : figures.eligibleCount
    if figures.countedCount > 0 {
      figures.rate = Double(figures.presentCount) / Double(figures.countedCount)
      figures.percentage = Int32((100 * figures.rate + 0.5 + 1e-9).rounded(.down))
    }
    // Runs of presences, with the excused left out where they pause.
    let line = rules.excusedPausesStreak ? statuses.filter { $0 != .excused } : statuses
    let runs = line.split(omittingEmptySubsequences: false) { $0 != .present }.map(\.count)
    figures.bestStreak = Int32(runs.max() ?? 0)
    figures.currentStreak = Int32(runs.last ?? 0)
    return figures
  }
}

/// Random histories. Every failure names its seed; CAMPANILE_SEED repeats one.
@Suite struct ModelTests {
  @Test func statisticsEqualARecountOfRandomHistories() async throws {
    let seed =
      ProcessInfo.processInfo.environment["CAMPANILE_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 0 ... .max)
    var source = SplitMix(state: seed)
    let fixture = try Fixture()
    var component = try await fixture.open()
    var oracle = Oracle()
    for step in 0..<700 {
      try await Self.step(component, &oracle, fixture.now, &source)
      fixture.wait(Int64(source.below(5)) * Fixture.hourMs)
      if step % 200 == 199 {
        await component.close()
        component = try await fixture.open()
      }
      if step % 20 == 19 { try await Self.compare(component, oracle, &source, "seed \(seed) step \(step)") }
    }
    #expect(try component.verify().intact, "seed \(seed)")
    await component.close()
  }

  private static func step(
    _ component: AttendanceComponent, _ oracle: inout Oracle, _ nowMs: Int64, _ source: inout SplitMix
  ) async throws {
    let meetings = oracle.meetings.keys.sorted()
    let members = oracle.initiation.keys.sorted()
    let meeting = meetings.isEmpty ? 0 : meetings[source.below(meetings.count)]
    let member = members.isEmpty ? 0 : members[source.below(members.count)]
    switch source.below(20) {
    case 0:
      let made = try await component.makeMember("Member \(source.next())", initiation: date(nowMs, &source))
      oracle.initiation[made.number] = made.initiationDate
    case 1:
      guard member > 0 else { return }
      var change = Member()
      change.id = Numbers.memberID(member)
      change.initiationDate = date(nowMs, &source)
      let updated = try await component.members.updateMember(
        .with {
          $0.member = change
          $0.updateMask = ProtoFieldMask(paths: ["initiation_date"])
        }, context: admin
      ).member
      oracle.initiation[member] = updated?.initiationDate
    case 2...5:
      let startMs = start(nowMs, &source)
      let status: MeetingStatus = startMs <= nowMs && source.below(2) == 0 ? .completed : .scheduled
      let made = try await component.makeMeeting(atMs: startMs, status)
      oracle.meetings[made.number] = .init(startMs: startMs, number: made.number, status: status)
    case 6...8:
      guard let entry = oracle.meetings[meeting] else { return }
      var change = Meeting()
      change.id = Numbers.meetingID(meeting)
      var next = entry
      if source.below(2) == 0 { next.startMs = start(nowMs, &source) }
      next.status = [.scheduled, .completed, .cancelled][source.below(3)]
      change.startTime = ProtoTimestamp(millisecondsSince1970: next.startMs)
      change.status = next.status
      let reason = await refusal {
        try await component.meetings.updateMeeting(.with { $0.meeting = change }, context: admin)
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
        .with {
          $0.meetingId = Numbers.meetingID(meeting)
          $0.force = true
        }, context: admin)
      oracle.meetings[meeting] = nil
      oracle.records = oracle.records.filter { $0.key[0] != meeting }
    case 10 where source.below(4) == 0: try await changeSettings(component, &oracle, &source)
    case 11: try await batch(component, &oracle, meeting, members, &source)
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
        .with {
          $0.meetingId = Numbers.meetingID(meeting)
          $0.memberId = Numbers.memberID(member)
          $0.status = status
        }, context: admin)
    }
    #expect(reason == expected(oracle, meeting, member))
    if reason.isEmpty { oracle.records[[meeting, member]] = status }
  }

  private static func expected(_ oracle: Oracle, _ meeting: Int64, _ member: Int64) -> String {
    guard let entry = oracle.meetings[meeting] else { return "NOT_FOUND MEETING_NOT_FOUND" }
    if entry.status == .cancelled { return "FAILED_PRECONDITION MEETING_CANCELLED" }
    let day = Days.text(oracle.calendar?.day(ofMs: entry.startMs) ?? 0)
    return day < oracle.initiation[member] ?? "" ? "FAILED_PRECONDITION BEFORE_INITIATION" : ""
  }

  /// All or none.
  private static func batch(
    _ component: AttendanceComponent, _ oracle: inout Oracle, _ meeting: Int64, _ members: [Int64],
    _ source: inout SplitMix
  ) async throws {
    guard meeting > 0, !members.isEmpty else { return }
    var entries: [BatchRecordAttendanceRequest.AttendanceEntry] = []
    for member in members where source.below(3) > 0 {
      var entry = BatchRecordAttendanceRequest.AttendanceEntry()
      entry.memberId = Numbers.memberID(member)
      entry.status = statuses[source.below(statuses.count)]
      entries.append(entry)
    }
    guard !entries.isEmpty else { return }
    let request = BatchRecordAttendanceRequest.with {
      $0.meetingId = Numbers.meetingID(meeting)
      $0.entries = entries
    }
    let reason = await refusal { try await component.attendance.batchRecordAttendance(request, context: admin) }
    let first = entries.compactMap { entry -> String? in
      let reason = expected(oracle, meeting, Numbers.member(entry.memberId) ?? 0)
      return reason.isEmpty ? nil : reason
    }.first
    #expect(reason == first ?? "")
    guard reason.isEmpty else { return }
    for entry in entries { oracle.records[[meeting, Numbers.member(entry.memberId) ?? 0]] = entry.status }
  }

  private static func changeSettings(
    _ component: AttendanceComponent, _ oracle: inout Oracle, _ source: inout SplitMix
  ) async throws {
    var settings = LodgeSettings()
    settings.timeZone = ["Europe/Rome", "Pacific/Auckland", "America/Los_Angeles"][source.below(3)]
    settings.excusedPausesStreak = source.below(2) == 0
    settings.excusedLeavesDenominator = source.below(2) == 0
    _ = try await component.lodge.updateLodgeSettings(
      .with {
        $0.settings = settings
        $0.updateMask = ProtoFieldMask(
          paths: ["time_zone", "excused_pauses_streak", "excused_leaves_denominator"])
      }, context: admin)
    oracle.calendar = LodgeCalendar(settings.timeZone)
    oracle.rules = settings.countingRules
  }

  private static func compare(
    _ component: AttendanceComponent, _ oracle: Oracle, _ source: inout SplitMix, _ label: String
  ) async throws {
    let asOf = date(1_770_000_000_000, &source)
    for member in oracle.initiation.keys {
      var one = Member()
      one.id = Numbers.memberID(member)
      for (year, day) in [(0, ""), (2025, ""), (2026, ""), (0, asOf), (2025, asOf)] as [(Int32, String)] {
        let found = try await component.figures(one, year: year, asOf: day)
        #expect(found == oracle.statistics(member, year: year, asOf: day), "\(label) \(one.id) \(year) \(day)")
      }
    }
    for year: Int32 in [0, 2025] {
      let lines = try await component.statistics.listMemberSummaries(.with { $0.year = year }, context: admin).summaries
      #expect(lines.count == oracle.initiation.count)
      for line in lines {
        #expect(
          line.statistics == oracle.statistics(line.memberNumber, year: year, asOf: ""), "\(label) summary \(year)")
      }
    }
  }

  /// A day within about two years before the beginning of the test, or none.
  private static func date(_ nowMs: Int64, _ source: inout SplitMix) -> String {
    source.below(5) == 0 ? "" : Days.text(nowMs / Fixture.dayMs - Int64(source.below(700)))
  }

  /// Some are at the same instant; some are around midnight and new year; a few lie ahead.
  private static func start(_ nowMs: Int64, _ source: inout SplitMix) -> Int64 {
    switch source.below(6) {
    case 0: 1_767_222_000_000 + Int64(source.below(5)) * Fixture.hourMs
    case 1: nowMs + Int64(1 + source.below(20)) * Fixture.dayMs
    default: nowMs - Int64(source.below(700)) * Fixture.dayMs
    }
  }
}
