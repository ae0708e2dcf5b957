import CampanileAPI
import CampanileService
import Foundation

/// When devices are to be left alone: the windows of quiet hours, in a time zone.
///
/// A window begins on its days at its start and ends at its end, on the same day or, when that is not after the start,
/// on the next. Both are times that clocks show. One that is skipped when clocks go forward is the instant of the
/// change; of one that is repeated when they go back, a start is the first instant and an end the last, so that a
/// window is never interrupted. Windows that touch or overlap are one.
struct QuietSchedule: Sendable {
  /// A quiet time never lasts longer than this, whatever the windows say: two weeks, and what daylight saving adds.
  static let lengthMaxMs: Int64 = 15 * WallClockTime.dayMs

  /// Milliseconds after midnight of the day on which a window begins; the end may be on the next.
  private struct Span {
    var startMs: Int64
    var endMs: Int64
  }

  /// The spans that begin on each day of the week, Monday first.
  private let spans: [[Span]]
  private let timeZone: TimeZone

  /// Windows that `QuietHoursRules` refuse are left out.
  init(_ hours: QuietHours, timeZone: TimeZone) {
    self.timeZone = timeZone
    var spans: [[Span]] = Array(repeating: [], count: 7)
    for window in hours.windows.prefix(QuietHoursRules.windowsMax) {
      guard let minutes = QuietHoursRules.minutes(of: window) else { continue }
      let span = Span(startMs: Int64(minutes.start) * 60_000, endMs: Int64(minutes.end) * 60_000)
      for day in QuietHoursRules.days(of: window) { spans[day].append(span) }
    }
    self.spans = spans
  }

  /// The end of the quiet time that `nowMs` is in, in milliseconds since 1970; nil when it is in none.
  ///
  /// A quiet time includes its start and excludes its end. Times outside of the years 1970 to 9999 are in none.
  func releaseMs(at nowMs: Int64) -> Int64? {
    guard (0...SortableID.timeMsMax).contains(nowMs), spans.contains(where: { !$0.isEmpty }) else { return nil }
    var clock = WallClockTime(timeZone)
    // A window that began yesterday may reach into today; the day before serves zones that leave out a whole day.
    var nextDay = clock.day(of: nowMs) - 2
    var windows: [(start: Int64, end: Int64)] = []
    var end = nowMs
    let latest = nowMs + Self.lengthMaxMs
    while true {
      // All that may begin at or before `end` must be known before it is decided whether the quiet goes on.
      let lastDay = clock.day(of: end) + 1
      while nextDay <= lastDay {
        append(day: nextDay, &clock, &windows)
        nextDay += 1
      }
      let further = windows.reduce(into: end) { result, window in
        if window.start <= end, window.end > result { result = window.end }
      }
      if further == end { return end == nowMs ? nil : end }
      end = further
      if end >= latest { return latest }
      // What ends before this cannot make the quiet longer.
      windows.removeAll { $0.end <= end }
    }
  }

  private func append(day: Int64, _ clock: inout WallClockTime, _ windows: inout [(start: Int64, end: Int64)]) {
    // 1970-01-01 was a Thursday, the fourth day counted from Monday.
    let weekday = Int((day + 3) - (day + 3).floorDivided(by: 7) * 7)
    for span in spans[weekday] {
      let start = clock.instant(day: day, timeMs: span.startMs, .first)
      let end = clock.instant(day: day, timeMs: span.endMs, .last)
      if end > start { windows.append((start, end)) }
    }
  }
}
