import CampanileAPI
import CampanileCodec
import ServiceTesting

@testable import Attendance

/// The expected state of the lodge. Computes statistics directly from their definition.
struct Oracle {
  struct Entry {
    var startMs: Int64
    var number: Int64
    var status: MeetingStatus
  }
  var initiation: [Int64: String] = [:]
  var names: [Int64: String] = [:]
  var inactive: Set<Int64> = []
  var erased: Set<Int64> = []
  var meetings: [Int64: Entry] = [:]
  var records: [[Int64]: AttendanceStatus] = [:]
  var calendar = LodgeCalendar("Europe/Rome")
  var rules = CountingRules()

  func day(_ entry: Entry) -> String { Days.text(calendar?.day(ofMs: entry.startMs) ?? 0) }

  /// Returns the eligible meetings, oldest first.
  func eligible(_ member: Int64, _ isMeant: (String) -> Bool) -> [Entry] {
    meetings.values.filter { entry in
      entry.status == .completed && day(entry) >= initiation[member] ?? "" && isMeant(day(entry))
    }.sorted { ($0.startMs, $0.number) < ($1.startMs, $1.number) }
  }

  func statistics(_ member: Int64, year: Int32, asOf: String) -> AttendanceStatistics {
    let eligible = eligible(member) { day in
      (asOf.isEmpty || day <= asOf) && (year == 0 || day.hasPrefix(String(year)))
    }
    let statuses = eligible.map { records[[$0.number, member]] ?? .notConfirmed }
    var figures = AttendanceStatistics(
      eligibleCount: Int32(statuses.count), presentCount: Int32(statuses.count { $0 == .present }),
      absentCount: Int32(statuses.count { $0 == .absent }), excusedCount: Int32(statuses.count { $0 == .excused }),
      unconfirmedCount: Int32(statuses.count { $0 == .notConfirmed }))
    figures.countedCount =
      rules.excusedLeavesDenominator ? figures.eligibleCount - figures.excusedCount : figures.eligibleCount
    if figures.countedCount > 0 {
      figures.rate = Double(figures.presentCount) / Double(figures.countedCount)
      figures.percentage = Int32((100 * figures.rate + 0.5 + 1e-9).rounded(.down))
    }
    // Runs of presences, without excused meetings if they pause the streak.
    let line = rules.excusedPausesStreak ? statuses.filter { $0 != .excused } : statuses
    let runs = line.split(omittingEmptySubsequences: false) { $0 != .present }.map(\.count)
    figures.bestStreak = Int32(runs.max() ?? 0)
    figures.currentStreak = Int32(runs.last ?? 0)
    return figures
  }

  /// Active members with eligible meetings since a day and no presence at any of them, ordered by name.
  func absentees(since: String) -> [Absentee] {
    initiation.keys.filter { !inactive.contains($0) }.sorted {
      MemberRules.key(of: names[$0] ?? "") < MemberRules.key(of: names[$1] ?? "")
    }.compactMap { member in
      func came(_ entry: Entry) -> Bool { records[[entry.number, member]] == .present }
      let recent = eligible(member) { $0 >= since }
      guard !recent.isEmpty, !recent.contains(where: came) else { return nil }
      var absentee = Absentee(
        memberId: AttendanceIDs.memberID(member), name: names[member] ?? "", missedCount: Int32(recent.count))
      if let last = eligible(member, { _ in true }).last(where: came) {
        absentee.lastMeetingId = AttendanceIDs.meetingID(last.number)
        absentee.lastPresentTime = ProtoTimestamp(millisecondsSince1970: last.startMs)
      }
      return absentee
    }
  }

  /// Found by trying every number of upcoming meetings.
  func forecast(_ member: Int64, target: Int32, nowMs: Int64) -> GetForecastResponse {
    let statistics = statistics(member, year: 0, asOf: "")
    let upcoming = meetings.values.count { entry in
      entry.status == .scheduled && entry.startMs >= nowMs && day(entry) >= initiation[member] ?? ""
    }
    let (present, whole) = (Int(statistics.presentCount), Int(statistics.countedCount) + upcoming)
    let enough = (0...upcoming).first { whole > 0 && 100 * (present + $0) >= Int(target) * whole }
    let best = whole > 0 ? Int32((Double(100 * (present + upcoming)) / Double(whole) + 0.5 + 1e-9).rounded(.down)) : 0
    return GetForecastResponse(
      statistics: statistics, upcomingCount: Int32(upcoming), reachable: enough != nil,
      neededCount: Int32(enough ?? (whole > 0 ? upcoming : 0)), bestPercentage: best)
  }

  /// Returns the expected error of recording; empty if it succeeds.
  func refusal(_ meeting: Int64, _ member: Int64) -> String {
    guard let entry = meetings[meeting] else { return "NOT_FOUND MEETING_NOT_FOUND" }
    if entry.status == .cancelled { return "FAILED_PRECONDITION MEETING_CANCELLED" }
    if erased.contains(member) { return "FAILED_PRECONDITION MEMBER_ERASED" }
    return day(entry) < initiation[member] ?? "" ? "FAILED_PRECONDITION BEFORE_INITIATION" : ""
  }
}
