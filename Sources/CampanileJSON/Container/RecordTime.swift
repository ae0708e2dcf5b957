internal import CampanileCodec

/// A date and time of a record: ISO 8601 in the form of RFC 3339, with up to nine fraction digits.
struct RecordTime: Sendable, Hashable, Comparable {
  private let seconds: Int64
  private let nanos: Int32

  /// Parses a text; nil if it is not a date and time.
  init?(_ text: [UInt8]) {
    guard let time = text.withUnsafeBufferPointer({ ProtoTimestamp.parse($0) }) else { return nil }
    seconds = time.seconds
    nanos = time.nanos
  }

  init?(_ value: JSONValue?) {
    guard case .string(let string)? = value else { return nil }
    self.init(string.bytes)
  }

  static func < (left: RecordTime, right: RecordTime) -> Bool {
    (left.seconds, left.nanos) < (right.seconds, right.nanos)
  }
}
