import CampanileBase

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The wall clock, for log lines and metrics. Deadlines use a monotonic clock instead.
public enum WallClock {
  /// Returns milliseconds since 1970-01-01 00:00 UTC.
  public static func nowMs() -> Int64 {
    Int64((Date().timeIntervalSince1970 * 1000).rounded(.down))
  }

  /// Returns nanoseconds since 1970-01-01 00:00 UTC, with a precision of a quarter of a microsecond.
  public static func nowNs() -> UInt64 {
    UInt64(max(0, Date().timeIntervalSince1970) * 1_000_000_000)
  }

  /// Formats a time in UTC with milliseconds (RFC 3339), for example `2026-11-21T05:02:35.120Z`.
  public static func rfc3339(_ milliseconds: Int64) -> String {
    let days = milliseconds.floorDivided(by: 86_400_000)
    let ofDay = milliseconds - days * 86_400_000
    let date = CivilDate(daysSince1970: Int(days))
    let clock = [ofDay / 3_600_000, ofDay / 60_000 % 60, ofDay / 1000 % 60].map { pad($0, 2) }
    let day = "\(pad(date.year, 4))-\(pad(date.month, 2))-\(pad(date.day, 2))"
    return "\(day)T\(clock.joined(separator: ":")).\(pad(ofDay % 1000, 3))Z"
  }

  /// Formats a time as an HTTP date (RFC 9110 section 5.6.7), for example `Sun, 06 Nov 1994 08:49:37 GMT`.
  static func httpDate(_ milliseconds: Int64) -> String {
    let days = milliseconds.floorDivided(by: 86_400_000)
    let ofDay = milliseconds - days * 86_400_000
    let date = CivilDate(daysSince1970: Int(days))
    // 1970-01-01 was a Thursday.
    let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][Int((days % 7 + 7) % 7)]
    let month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][date.month - 1]
    let clock = [ofDay / 3_600_000, ofDay / 60_000 % 60, ofDay / 1000 % 60].map { pad($0, 2) }
    return "\(weekday), \(pad(date.day, 2)) \(month) \(pad(date.year, 4)) \(clock.joined(separator: ":")) GMT"
  }

  private static func pad(_ value: some BinaryInteger, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
