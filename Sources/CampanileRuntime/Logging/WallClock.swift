#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The time of day, for log lines and metrics; deadlines use a monotonic clock instead.
public enum WallClock {
  /// Milliseconds since 1970-01-01 00:00 UTC.
  public static func nowMs() -> Int64 {
    Int64((Date().timeIntervalSince1970 * 1000).rounded(.down))
  }

  /// Nanoseconds since 1970-01-01 00:00 UTC, to a quarter of a microsecond.
  public static func nowNs() -> UInt64 {
    UInt64(max(0, Date().timeIntervalSince1970) * 1_000_000_000)
  }

  /// RFC 3339 in UTC with milliseconds, for example `2026-11-21T05:02:35.120Z`.
  public static func rfc3339(_ milliseconds: Int64) -> String {
    let days = floorDivide(milliseconds, 86_400_000)
    let ofDay = milliseconds - days * 86_400_000
    let (year, month, day) = civil(days)
    let clock = [ofDay / 3_600_000, ofDay / 60_000 % 60, ofDay / 1000 % 60].map { pad($0, 2) }
    return "\(pad(year, 4))-\(pad(month, 2))-\(pad(day, 2))T\(clock.joined(separator: ":")).\(pad(ofDay % 1000, 3))Z"
  }

  /// The proleptic Gregorian date of a day counted from 1970-01-01, computed in years that begin in March, so that
  /// the leap day is a year's last.
  private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468
    let era = floorDivide(shifted, 146_097)
    let ofEra = shifted - era * 146_097
    let yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * ofYear + 2) / 153
    let day = ofYear - (153 * shiftedMonth + 2) / 5 + 1
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }

  private static func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
    let quotient = value / divisor
    return value % divisor < 0 ? quotient - 1 : quotient
  }

  private static func pad(_ value: Int64, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
