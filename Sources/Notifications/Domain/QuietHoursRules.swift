import CampanileAPI
import CampanileCodec
import CampanileService
import Foundation

/// Validates quiet hours by the rules that their constraints cannot express.
enum QuietHoursRules {
  static let windowsMax = 32
  private static let dayMinutes = 1_440

  static func check(_ hours: QuietHours, _ path: String, _ violations: inout Violations) {
    var isValid = true
    for (index, window) in hours.windows.prefix(windowsMax).enumerated() where minutes(of: window) == nil {
      isValid = false
      check(window, "\(path).windows[\(index)]", &violations)
    }
    if isValid, leavesNothing(hours) {
      violations.add("\(path).windows", "must leave at least a minute of the week", .quietHoursEndless)
    }
  }

  /// Returns start and end in minutes after midnight of the day on which the window begins.
  ///
  /// - Returns: Nil if one of them is not a time of day.
  static func minutes(of window: QuietWindow) -> (start: Int, end: Int)? {
    guard let start = minutes(window.start), start < dayMinutes, let end = minutes(window.end) else { return nil }
    return (start, end > start ? end : end + dayMinutes)
  }

  /// The distinct days on which a window begins, in order; 0 is Monday.
  static func days(of window: QuietWindow) -> [Int] {
    if window.days.isEmpty { return Array(0..<7) }
    return Set(window.days.map { Int($0.rawValue) - 1 }).filter { (0..<7).contains($0) }.sorted()
  }

  /// Adds violations for times beyond the day. The contract's pattern `[0-2][0-9]:[0-5][0-9]` rejects other texts.
  private static func check(_ window: QuietWindow, _ path: String, _ violations: inout Violations) {
    if let start = clock(window.start), start < 30 * 60, start >= dayMinutes {
      violations.add("\(path).start", "must be HH:MM, 00:00 to 23:59", .timeOfDayInvalid)
    }
    if let end = clock(window.end), end < 30 * 60, end > dayMinutes {
      violations.add("\(path).end", "must be HH:MM, 00:00 to 24:00", .timeOfDayInvalid)
    }
  }

  /// Parses `HH:MM`, 00:00 to 24:00, into minutes.
  private static func minutes(_ text: String) -> Int? { clock(text).flatMap { $0 <= dayMinutes ? $0 : nil } }

  /// Parses `HH:MM` with any hour into minutes.
  private static func clock(_ text: String) -> Int? {
    let bytes = Array(text.utf8.prefix(6))
    guard bytes.count == 5, bytes[2] == UInt8(ascii: ":") else { return nil }
    let digits = [bytes[0], bytes[1], bytes[3], bytes[4]]
    guard digits.allSatisfy(TextRules.isDigit) else { return nil }
    let values = digits.map { Int($0 - UInt8(ascii: "0")) }
    let (hours, minutes) = (values[0] * 10 + values[1], values[2] * 10 + values[3])
    return minutes < 60 ? hours * 60 + minutes : nil
  }

  /// Whether the windows cover every minute of a week without a clock change.
  private static func leavesNothing(_ hours: QuietHours) -> Bool {
    var isQuiet = [Bool](repeating: false, count: 7 * dayMinutes)
    for window in hours.windows.prefix(windowsMax) {
      guard let minutes = minutes(of: window) else { continue }
      for day in days(of: window) {
        for minute in minutes.start..<minutes.end { isQuiet[(day * dayMinutes + minute) % isQuiet.count] = true }
      }
    }
    return !isQuiet.contains(false)
  }
}

/// Validates the names of time zones.
enum TimeZoneRules {
  private static let sizeMax = 64

  /// Returns the time zone with a name of the IANA time zone database, such as `Europe/Rome`. An empty name is `UTC`.
  ///
  /// Names are compared exactly. Abbreviations (`CET`) and offsets (`GMT+2`) are not accepted, because they do not
  /// identify a place.
  static func zone(_ name: String) -> TimeZone? {
    if name.isEmpty || name == "UTC" || name == "GMT" { return TimeZone(secondsFromGMT: 0) }
    let bytes = name.utf8
    // Foundation's database also has the names of System V, which are not IANA's.
    guard bytes.count <= sizeMax, bytes.contains(UInt8(ascii: "/")), bytes.allSatisfy(isNameByte),
      !name.hasPrefix("SystemV/"), let zone = TimeZone(identifier: name), zone.identifier == name
    else { return nil }
    return zone
  }

  /// Adds a violation unless `name` is empty or names a zone.
  static func check(_ name: String, _ path: String, _ violations: inout Violations) {
    if zone(name) == nil {
      violations.add(path, "must be a name of the IANA time zone database, such as Europe/Rome", .timeZoneUnknown)
    }
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    TextRules.isLetter(byte) || TextRules.isDigit(byte) || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "_")
      || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+")
  }
}
