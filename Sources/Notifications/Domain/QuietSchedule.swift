import CampanileAPI
import CampanileBase
import CampanileService
import Foundation

/// A schedule of quiet hours: windows in a time zone during which devices are not disturbed.
///
/// A window begins on each of its days at its start. It ends on the same day or, if its end is not after its start, on
/// the next day. Both are wall-clock times.
///
/// A time that is skipped when clocks go forward is the instant of the change. A time that is repeated when clocks go
/// back is the first instant for a start and the last for an end. No window is therefore interrupted. Windows that
/// touch or overlap are merged.
struct QuietSchedule: Sendable {
  /// The maximum length of a quiet period, whatever the windows: two weeks, plus the hours added by daylight saving
  /// time.
  static let lengthMaxMs: Int64 = 15 * WallClockTime.dayMs

  /// Milliseconds after midnight of the day on which a window begins. The end may be on the next day.
  private struct Span {
    var startMs: Int64
    var endMs: Int64
  }

  /// The spans that begin on each day of the week, Monday first.
  private let spans: [[Span]]
  private let timeZone: TimeZone

  /// Creates a schedule; skips windows that `QuietHoursRules` rejects.
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

  /// Returns the end of the quiet period that contains `nowMs`, in milliseconds since 1970, or nil if there is none.
  ///
  /// A quiet period includes its start and excludes its end. Times outside the years 1970 to 9999 are never quiet.
  func releaseMs(at nowMs: Int64) -> Int64? {
    guard (0...SortableID.timeMsMax).contains(nowMs), spans.contains(where: { !$0.isEmpty }) else { return nil }
    var clock = WallClockTime(timeZone)
    // A window that began yesterday may extend into today. The day before serves zones that skipped a whole day.
    var nextDay = clock.day(of: nowMs) - 2
    var windows: [(start: Int64, end: Int64)] = []
    var end = nowMs
    let latest = nowMs + Self.lengthMaxMs
    while true {
      // Collect every window that may begin at or before `end` before deciding whether the quiet period continues.
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
      // Windows that end before this cannot extend the quiet period.
      windows.removeAll { $0.end <= end }
    }
  }

  private func append(day: Int64, _ clock: inout WallClockTime, _ windows: inout [(start: Int64, end: Int64)]) {
    // 1970-01-01 was a Thursday, the fourth day of the week from Monday.
    let weekday = Int((day + 3) - (day + 3).floorDivided(by: 7) * 7)
    for span in spans[weekday] {
      let start = clock.instant(day: day, timeMs: span.startMs, .first)
      let end = clock.instant(day: day, timeMs: span.endMs, .last)
      if end > start { windows.append((start, end)) }
    }
  }
}
