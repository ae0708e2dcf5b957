import CampanileCodec
import CampanileService
import Foundation

/// Times in the formats of ntfy's `Delay`: `30m`, `2 hours`, a Unix time, RFC 3339, `10am`, `tomorrow, 3:30pm`.
enum PublishTimes {
  private static let unitsMs: [(names: Set<String>, ms: Int64)] = [
    (["s", "sec", "secs", "second", "seconds"], 1_000), (["m", "min", "mins", "minute", "minutes"], 60_000),
    (["h", "hour", "hours"], 3_600_000), (["d", "day", "days"], 86_400_000),
  ]
  private static let dayMs: Int64 = 86_400_000
  private static let durationMsMax: Int64 = 400 * dayMs
  /// Smaller whole numbers are mistakes for durations: 1973.
  private static let unixMin: Int64 = 100_000_000

  /// Returns an instant in milliseconds since 1970; nil for another format.
  ///
  /// - Parameter zone: The zone of a time of day.
  static func instantMs(_ text: String, zone: TimeZone, nowMs: Int64) -> Int64? {
    let text = text.lowercased().trimmingCharacters(in: .whitespaces)
    guard !text.isEmpty, text.utf8.count <= 64 else { return nil }
    if let number = Int64(text), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      let (ms, isOverflow) = number.multipliedReportingOverflow(by: 1_000)
      return number >= unixMin && !isOverflow ? ms : nil
    }
    if let durationMs = duration(text) { return nowMs + durationMs }
    if let time = DialectTimes.time(text.uppercased()) { return time.millisecondsSince1970 }
    return timeOfDay(text, zone: zone, nowMs: nowMs)
  }

  /// Parses `30m`, `2 hours`, `1h30m`.
  private static func duration(_ text: String) -> Int64? {
    var rest = text.filter { $0 != " " }[...]
    var totalMs: Int64 = 0
    while !rest.isEmpty {
      let digits = rest.prefix { $0.isASCII && $0.isNumber }
      let unit = rest.dropFirst(digits.count).prefix { $0.isASCII && $0.isLetter }
      guard let number = Int64(digits), number <= durationMsMax,
        let factor = unitsMs.first(where: { $0.names.contains(String(unit)) })?.ms
      else { return nil }
      let (ms, isOverflow) = number.multipliedReportingOverflow(by: factor)
      totalMs += ms
      guard !isOverflow, totalMs <= durationMsMax else { return nil }
      rest = rest.dropFirst(digits.count + unit.count)
    }
    return totalMs
  }

  /// Parses `[today|tomorrow[,]] H[:MM][am|pm]`. Without a day, a time that has passed is tomorrow's.
  private static func timeOfDay(_ text: String, zone: TimeZone, nowMs: Int64) -> Int64? {
    var words = text.replacing(",", with: " ").split(separator: " ").filter { $0 != "at" }[...]
    let named = words.first.flatMap { ["today": Int64(0), "tomorrow": 1][$0] }
    if named != nil { words = words.dropFirst() }
    guard let timeMs = clockMs(words.joined()) else { return nil }
    var clock = WallClockTime(zone)
    let today = clock.day(of: nowMs)
    let instantMs = clock.instant(day: today + (named ?? 0), timeMs: timeMs, .first)
    if named == nil, instantMs <= nowMs { return clock.instant(day: today + 1, timeMs: timeMs, .first) }
    return instantMs
  }

  private static func clockMs(_ text: String) -> Int64? {
    let half = ["am", "pm"].first { text.hasSuffix($0) }
    let parts = text.dropLast(half == nil ? 0 : 2).split(separator: ":", omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), half != nil || parts.count == 2,
      parts.allSatisfy({ (1...2).contains($0.utf8.count) && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
      var hour = Int64(parts[0]), let minute = parts.count == 2 ? Int64(parts[1]) : 0, minute < 60
    else { return nil }
    if let half {
      guard (1...12).contains(hour) else { return nil }
      hour = hour % 12 + (half == "pm" ? 12 : 0)
    }
    return hour < 24 ? (hour * 60 + minute) * 60_000 : nil
  }
}
