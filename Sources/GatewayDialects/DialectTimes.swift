import CampanileCodec
import CampanileService
import Foundation

/// Conversion of times in the apps' format: ISO 8601 with seconds and `Z`, without fractions.
enum DialectTimes {
  static func text(_ time: ProtoTimestamp?) -> String {
    let seconds = time?.seconds ?? 0
    return String(ProtoTimestamp(seconds: seconds).jsonString().dropFirst().dropLast())
  }

  /// Returns a day as the instant at which it begins in a time zone, because apps compare it with instants.
  ///
  /// - Parameters:
  ///   - day: `YYYY-MM-DD`.
  ///   - zone: An IANA name; UTC if it is unknown.
  static func text(day: String, zone: String) -> String {
    guard let midnight = time("\(day)T00:00:00Z") else { return "\(day)T00:00:00Z" }
    var clock = WallClockTime(TimeZone(identifier: zone) ?? .gmt)
    let number = midnight.millisecondsSince1970 / WallClockTime.dayMs
    return text(ProtoTimestamp(millisecondsSince1970: clock.instant(day: number, timeMs: 0, .first)))
  }

  /// Parses an instant; nil if the format differs.
  static func time(_ text: String) -> ProtoTimestamp? {
    guard text.utf8.count <= 40, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }) else {
      return nil
    }
    return try? ProtoTimestamp(jsonString: "\"\(text)\"")
  }

  /// Returns the day on which an instant falls in a time zone; in UTC if the zone is unknown.
  static func day(_ time: ProtoTimestamp, zone: String) -> String {
    let clock = WallClockTime(TimeZone(identifier: zone) ?? .gmt)
    let midnight = ProtoTimestamp(
      millisecondsSince1970: clock.day(of: time.millisecondsSince1970) * WallClockTime.dayMs)
    return String(text(midnight).prefix(10))
  }
}
