import CampanileCodec
import CampanileService
import Foundation

/// Instants as the apps write them: ISO 8601 with seconds and `Z`, without fractions.
enum DialectTimes {
  static func text(_ time: ProtoTimestamp?) -> String {
    let seconds = time?.seconds ?? 0
    return String(ProtoTimestamp(seconds: seconds).jsonString().dropFirst().dropLast())
  }

  /// A day of the lodge as an instant: noon in UTC, which is that day between the time zones of -12 and +11 hours.
  static func text(day: String) -> String { "\(day)T12:00:00Z" }

  /// The instant that a text says; `nil` for another form.
  static func time(_ text: String) -> ProtoTimestamp? {
    guard text.utf8.count <= 40, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }) else {
      return nil
    }
    return try? ProtoTimestamp(jsonString: "\"\(text)\"")
  }

  /// The day that an instant falls on in a time zone; in UTC where the zone is not known here.
  static func day(_ time: ProtoTimestamp, zone: String) -> String {
    let clock = WallClockTime(TimeZone(identifier: zone) ?? .gmt)
    let midnight = ProtoTimestamp(
      millisecondsSince1970: clock.day(of: time.millisecondsSince1970) * WallClockTime.dayMs)
    return String(text(midnight).prefix(10))
  }
}
