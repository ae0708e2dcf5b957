/// `google.protobuf.Duration`: a duration, in JSON a string of seconds such as `1.500s` or `-0.250s`.
public struct ProtoDuration: ProtoMessage {
  public static var protoFullName: String { "google.protobuf.Duration" }

  /// The seconds, within ±315,576,000,000 (10,000 years).
  public var seconds: Int64 = 0
  /// The nanoseconds, within ±999,999,999 and with the sign of `seconds`.
  public var nanos: Int32 = 0

  private static let secondsMax: Int64 = 315_576_000_000

  public init() {}

  public init(seconds: Int64, nanos: Int32 = 0) {
    self.seconds = seconds
    self.nanos = nanos
  }

  /// Creates a duration from milliseconds.
  public init(milliseconds: Int64) {
    self.init(seconds: milliseconds / 1000, nanos: Int32(milliseconds % 1000) * 1_000_000)
  }

  /// The whole milliseconds, rounded towards zero. Values outside the legal range are clamped.
  public var milliseconds: Int64 {
    let legal = normalized
    return legal.seconds * 1000 + Int64(legal.nanos / 1_000_000)
  }

  /// The nearest value with a JSON form: in range, with the same sign for both parts.
  var normalized: ProtoDuration {
    let limit = Self.secondsMax
    if seconds >= limit || seconds <= -limit { return .init(seconds: min(max(seconds, -limit), limit)) }
    var seconds = seconds + Int64(nanos / 1_000_000_000)
    var nanos = nanos % 1_000_000_000
    if seconds > 0, nanos < 0 {
      seconds -= 1
      nanos += 1_000_000_000
    } else if seconds < 0, nanos > 0 {
      seconds += 1
      nanos -= 1_000_000_000
    }
    return .init(seconds: seconds, nanos: nanos)
  }

  /// Reads a string of seconds with up to nine fraction digits and an `s`.
  ///
  /// - Throws: `INVALID_FORMAT` for other strings, and for more than 10,000 years.
  public init(from reader: inout JSONReader) throws(ProtoJSONError) {
    self = try reader.parsedString("a duration such as 1.5s") { Self.parse($0) }
  }

  /// Writes the duration with 0, 3, 6 or 9 fraction digits. Values outside the legal range are clamped.
  public func encode(to writer: inout JSONWriter) {
    let legal = normalized
    writer.append(UInt8(ascii: "\""))
    if legal.seconds < 0 || legal.nanos < 0 { writer.append(UInt8(ascii: "-")) }
    writer.number(legal.seconds.magnitude)
    writer.fraction(nanos: abs(legal.nanos))
    writer.append(raw: "s\"")
  }

  static func parse(_ text: UnsafeBufferPointer<UInt8>) -> ProtoDuration? {
    guard text.last == UInt8(ascii: "s") else { return nil }
    let negative = text.first == UInt8(ascii: "-")
    var index = negative ? 1 : 0
    let first = index
    var seconds: Int64 = 0
    while text[index] &- UInt8(ascii: "0") <= 9 {
      seconds = seconds * 10 + Int64(text[index] - UInt8(ascii: "0"))
      guard seconds <= secondsMax else { return nil }
      index += 1
    }
    guard index > first else { return nil }
    var nanos: Int32 = 0
    if text[index] == UInt8(ascii: ".") {
      guard let fraction = text.nanos(after: index) else { return nil }
      nanos = fraction.nanos
      index = fraction.next
    }
    guard index == text.count - 1 else { return nil }
    return negative ? .init(seconds: -seconds, nanos: -nanos) : .init(seconds: seconds, nanos: nanos)
  }
}
