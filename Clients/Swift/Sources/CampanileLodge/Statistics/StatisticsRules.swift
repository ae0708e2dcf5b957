public import CampanileAttendance
import CampanileClient
import Foundation

/// The rules by which Attendance computes statistics, for a device without a network. No I/O.
///
/// They are those of StatisticsService: see its description. A test compares the results with the service's.
public enum StatisticsRules {
  /// Computes the statistics of one member.
  ///
  /// - Parameters:
  ///   - statuses: The member's recorded statuses, by the id of the meeting.
  ///   - year: Only meetings of this year; 0 means all.
  ///   - settings: The lodge's; by default, excused absences leave the denominator and the streak.
  public static func statistics(
    of member: Member, meetings: some Sequence<Meeting>, statuses: [String: AttendanceStatus], year: Int32 = 0,
    settings: LodgeSettings = .init(
      timeZone: "Europe/Rome", excusedPausesStreak: true, excusedLeavesDenominator: true)
  ) -> AttendanceStatistics {
    let zone = TimeZone(identifier: settings.timeZone) ?? TimeZone(secondsFromGMT: 0)
    let eligible =
      meetings
      .filter { $0.status == .completed && (year == 0 || $0.year == year) && isEligible($0, member, zone) }
      .sorted { first, second in
        (first.startTime?.millisecondsSince1970 ?? 0, first.number)
          < (second.startTime?.millisecondsSince1970 ?? 0, second.number)
      }
    var result = AttendanceStatistics(eligibleCount: Int32(clamping: eligible.count))
    for meeting in eligible {
      switch statuses[meeting.id] {
      case .present:
        result.presentCount += 1
        result.currentStreak += 1
        result.bestStreak = max(result.bestStreak, result.currentStreak)
        continue
      case .excused:
        result.excusedCount += 1
        if settings.excusedPausesStreak { continue }
      case .absent: result.absentCount += 1
      default: result.unconfirmedCount += 1
      }
      result.currentStreak = 0
    }
    result.countedCount = result.eligibleCount - (settings.excusedLeavesDenominator ? result.excusedCount : 0)
    guard result.countedCount > 0 else { return result }
    result.rate = Double(result.presentCount) / Double(result.countedCount)
    // Rounded half up, in integers.
    result.percentage = (result.presentCount * 200 + result.countedCount) / (2 * result.countedCount)
    return result
  }

  /// Whether a meeting is on or after the day of the member's initiation.
  private static func isEligible(_ meeting: Meeting, _ member: Member, _ zone: TimeZone?) -> Bool {
    guard !member.initiationDate.isEmpty, let start = meeting.startTime?.date, let zone else { return true }
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = zone
    let day = calendar.dateComponents([.year, .month, .day], from: start)
    guard let year = day.year, let month = day.month, let number = day.day else { return true }
    let text = [(year, 4), (month, 2), (number, 2)].map { value, width in
      String(repeating: "0", count: max(0, width - "\(value)".count)) + "\(value)"
    }
    return text.joined(separator: "-") >= member.initiationDate
  }
}
