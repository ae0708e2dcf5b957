import CampanileBase

/// `google.protobuf.Timestamp`: a point in time, in JSON an RFC 3339 string such as `2025-01-31T08:15:00.250Z`.
public struct ProtoTimestamp: ProtoMessage {
  public static var protoFullName: String { "google.protobuf.Timestamp" }

  /// The seconds since 1970-01-01T00:00:00Z, from the year 1 to the year 9999.
  public var seconds: Int64 = 0
  /// The nanoseconds in addition to `seconds`, 0...999,999,999.
  public var nanos: Int32 = 0

  static let secondsRange: ClosedRange<Int64> = -62_135_596_800...253_402_300_799

  public init() {}

  public init(seconds: Int64, nanos: Int32 = 0) {
    self.seconds = seconds
    self.nanos = nanos
  }

  /// Creates the time `millisecondsSince1970` after the epoch.
  public init(millisecondsSince1970 milliseconds: Int64) {
    let remainder = milliseconds % 1000
    let (seconds, rest) = remainder < 0 ? (milliseconds / 1000 - 1, remainder + 1000) : (milliseconds / 1000, remainder)
    self.init(seconds: seconds, nanos: Int32(rest) * 1_000_000)
  }

  /// The whole milliseconds since the epoch, rounded down. Seconds outside the legal range are clamped.
  public var millisecondsSince1970: Int64 {
    let legal = clamped
    return legal.seconds * 1000 + Int64(legal.nanos / 1_000_000)
  }

  /// The nearest value with a JSON form.
  private var clamped: ProtoTimestamp {
    if seconds < Self.secondsRange.lowerBound { return .init(seconds: Self.secondsRange.lowerBound) }
    if seconds > Self.secondsRange.upperBound {
      return .init(seconds: Self.secondsRange.upperBound, nanos: 999_999_999)
    }
    return .init(seconds: seconds, nanos: min(max(nanos, 0), 999_999_999))
  }

  /// Reads an RFC 3339 string with up to nine fraction digits and `Z` or an offset of less than 14 hours.
  ///
  /// - Throws: `INVALID_FORMAT` for other strings, days that do not exist, and years outside 1...9999.
  public init(from reader: inout JSONReader) throws(ProtoJSONError) {
    self = try reader.parsedString("an RFC 3339 timestamp") { Self.parse($0) }
  }

  /// Writes the time in UTC with 0, 3, 6 or 9 fraction digits. Values outside the legal range are clamped.
  public func encode(to writer: inout JSONWriter) {
    let legal = clamped
    let days = legal.seconds.flooredQuotient(86_400)
    let second = Int(legal.seconds - days * 86_400)
    let date = CivilDate(daysSince1970: Int(days))
    writer.reserve(32)
    writer.append(UInt8(ascii: "\""))
    writer.twoDigits(date.year / 100)
    writer.twoDigits(date.year % 100)
    writer.append(UInt8(ascii: "-"))
    writer.twoDigits(date.month)
    writer.append(UInt8(ascii: "-"))
    writer.twoDigits(date.day)
    writer.append(UInt8(ascii: "T"))
    writer.twoDigits(second / 3600)
    writer.append(UInt8(ascii: ":"))
    writer.twoDigits(second / 60 % 60)
    writer.append(UInt8(ascii: ":"))
    writer.twoDigits(second % 60)
    writer.fraction(nanos: legal.nanos)
    writer.append(raw: "Z\"")
  }

  /// Parses a timestamp; returns nil if it is invalid.
  package static func parse(_ text: UnsafeBufferPointer<UInt8>) -> ProtoTimestamp? {
    guard text.count >= 20, text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"), text[10] == UInt8(ascii: "T"),
      text[13] == UInt8(ascii: ":"), text[16] == UInt8(ascii: ":"),
      let century = text.twoDigits(at: 0), let yearOfCentury = text.twoDigits(at: 2), let month = text.twoDigits(at: 5),
      let day = text.twoDigits(at: 8), let hour = text.twoDigits(at: 11), let minute = text.twoDigits(at: 14),
      let second = text.twoDigits(at: 17), hour < 24, minute < 60, second < 60,
      let date = CivilDate(year: century * 100 + yearOfCentury, month: month, day: day)
    else { return nil }
    var index = 19
    var nanos: Int32 = 0
    if text[index] == UInt8(ascii: ".") {
      guard let fraction = text.nanos(after: index) else { return nil }
      nanos = fraction.nanos
      index = fraction.next
    }
    guard let offset = offsetSeconds(text, at: index) else { return nil }
    let seconds = Int64(date.daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second - offset)
    guard secondsRange.contains(seconds) else { return nil }
    return .init(seconds: seconds, nanos: nanos)
  }

  /// Returns the offset from UTC that ends `text` at `index`; nil if it is invalid.
  private static func offsetSeconds(_ text: UnsafeBufferPointer<UInt8>, at index: Int) -> Int? {
    guard index < text.count else { return nil }
    let sign = text[index]
    if sign == UInt8(ascii: "Z") { return text.count == index + 1 ? 0 : nil }
    guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"), text.count == index + 6,
      text[index + 3] == UInt8(ascii: ":"), let hours = text.twoDigits(at: index + 1),
      let minutes = text.twoDigits(at: index + 4), hours < 14, minutes < 60
    else { return nil }
    let offset = hours * 3600 + minutes * 60
    return sign == UInt8(ascii: "+") ? offset : -offset
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// Returns the number in the two decimal digits at `index`.
  func twoDigits(at index: Int) -> Int? {
    guard index + 2 <= count else { return nil }
    let tens = self[index] &- UInt8(ascii: "0")
    let ones = self[index + 1] &- UInt8(ascii: "0")
    return tens <= 9 && ones <= 9 ? Int(tens) * 10 + Int(ones) : nil
  }

  /// Returns the fraction of one to nine digits after the point at `index`, in nanoseconds, and the index after it.
  func nanos(after index: Int) -> (nanos: Int32, next: Int)? {
    var next = index + 1
    var value: Int32 = 0
    while next < count, self[next] &- UInt8(ascii: "0") <= 9 {
      if next - index > 9 { return nil }
      value = value * 10 + Int32(self[next] - UInt8(ascii: "0"))
      next += 1
    }
    let digits = next - index - 1
    guard digits > 0 else { return nil }
    for _ in digits..<9 { value *= 10 }
    return (value, next)
  }
}

extension JSONWriter {
  /// Writes a number from 0 to 99 as two digits.
  mutating func twoDigits(_ value: Int) {
    reserve(2)
    base[length] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: value / 10)
    base[length &+ 1] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: value % 10)
    length &+= 2
  }

  /// Writes a point and 3, 6 or 9 digits; nothing for 0. `nanos` is in 0...999,999,999.
  mutating func fraction(nanos: Int32) {
    if nanos == 0 { return }
    append(UInt8(ascii: "."))
    var rest = Int(nanos)
    var divisor = 100_000_000
    var digits = 0
    repeat {
      append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest / divisor))
      rest %= divisor
      divisor /= 10
      digits += 1
    } while digits % 3 != 0 || rest != 0
  }
}

extension Int64 {
  /// Returns the quotient rounded down. `divisor` must be positive.
  func flooredQuotient(_ divisor: Int64) -> Int64 {
    self >= 0 ? self / divisor : -((-1 - self) / divisor) - 1
  }
}
