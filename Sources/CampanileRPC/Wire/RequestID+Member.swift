import CampanileCall

/// The request id as the last member of a call's metadata object, which a gateway writes.
extension RequestID {
  private static let head = Array("\"\(Metadata.requestIDKey)\":\"".utf8)

  /// Returns the start of the request id's member in a metadata object that ends with it; `nil` for other objects.
  /// `object` is JSON.
  ///
  /// A quote after a comma or a brace is outside of every string, so the match is a member.
  static func start(in object: UnsafeRawBufferPointer) -> Int? {
    let start = object.count - 2 - sizeBytes - head.count
    guard start > 0, object[object.count - 1] == UInt8(ascii: "}"), object[object.count - 2] == UInt8(ascii: "\""),
      object[start - 1] == UInt8(ascii: ",") || object[start - 1] == UInt8(ascii: "{"),
      object[start..<start + head.count].elementsEqual(head),
      object[(start + head.count)..<(object.count - 2)].allSatisfy(isPlain)
    else { return nil }
    return start
  }

  /// Reads the request id. `start` is the result of `start(in:)` for the same object.
  init(_ object: UnsafeRawBufferPointer, memberAt start: Int) {
    self.init(UnsafeRawBufferPointer(rebasing: object[(start + Self.head.count)...].prefix(Self.sizeBytes)))
  }

  static func isPlain(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
      || byte == UInt8(ascii: "-")
  }
}
