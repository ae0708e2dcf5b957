internal import CampanileCodec

/// A date and time of a record: ISO 8601 in the form of RFC 3339, with up to nine fraction digits.
struct RecordTime: Sendable, Hashable, Comparable {
  private let seconds: Int64
  private let nanos: Int32

  /// Nil for other texts.
  init?(_ text: [UInt8]) {
    guard text.count <= 64 else { return nil }
    let quoted = [UInt8(ascii: "\"")] + text + [UInt8(ascii: "\"")]
    guard let time = try? quoted.withUnsafeBytes({ try ProtoTimestamp(jsonUTF8: $0) }) else { return nil }
    seconds = time.seconds
    nanos = time.nanos
  }

  init?(_ value: JSONValue?) {
    guard case .string(let string)? = value else { return nil }
    self.init(Array(string.raw.utf8))
  }

  static func < (left: RecordTime, right: RecordTime) -> Bool {
    (left.seconds, left.nanos) < (right.seconds, right.nanos)
  }
}
