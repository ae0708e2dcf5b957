import CampanileBase
import CampanileCodec
import CampanileService
import Foundation

/// Conversions of days between `YYYY-MM-DD` and the number of days since 1970-01-01.
enum Days {
  /// Returns the day in a text; nil unless it has exactly this form and a year from 1000 to 9999.
  static func parse(_ text: String) -> Int64? {
    let bytes = Array(text.utf8)
    guard bytes.count == 10, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
      let year = digits(bytes[0..<4]), year >= 1_000, let month = digits(bytes[5..<7]),
      let day = digits(bytes[8..<10]), let date = CivilDate(year: year, month: month, day: day)
    else { return nil }
    return Int64(date.daysSince1970)
  }

  static func text(_ day: Int64) -> String {
    let date = CivilDate(daysSince1970: Int(day))
    let year = String(date.year)
    return String(repeating: "0", count: max(0, 4 - year.count)) + "\(year)-\(two(date.month))-\(two(date.day))"
  }

  static func year(_ day: Int64) -> Int { CivilDate(daysSince1970: Int(day)).year }

  static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : String(number) }

  private static func digits(_ bytes: ArraySlice<UInt8>) -> Int? {
    var value = 0
    for byte in bytes {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      value = value * 10 + Int(byte - UInt8(ascii: "0"))
    }
    return value
  }
}

/// Determines the day of an instant in the lodge's time zone.
struct LodgeCalendar: Sendable {
  let timeZone: TimeZone

  /// Nil if the machine's time-zone database has no such name.
  init?(_ name: String) {
    guard !name.isEmpty, name.utf8.count <= 64, let zone = TimeZone(identifier: name) else { return nil }
    timeZone = zone
  }

  func day(ofMs instantMs: Int64) -> Int64 { WallClockTime(timeZone).day(of: instantMs) }
}
