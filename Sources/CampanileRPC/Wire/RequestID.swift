/// The id that a gateway assigns to a call, stored inline: 33 characters of `[0-9a-f-]`.
struct RequestID: Sendable {
  static let sizeBytes = 33
  private static let head = Array("\"\(Metadata.requestIDKey)\":\"".utf8)

  private var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
  private var last: UInt8 = 0

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
    let text = UnsafeRawBufferPointer(rebasing: object[(start + Self.head.count)...].prefix(Self.sizeBytes))
    withUnsafeMutableBytes(of: &words) { $0.copyMemory(from: UnsafeRawBufferPointer(rebasing: text.prefix(32))) }
    last = text[32]
  }

  var text: String {
    withUnsafeBytes(of: words) { String(decoding: $0, as: UTF8.self) } + String(UnicodeScalar(last))
  }

  static func isPlain(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
      || byte == UInt8(ascii: "-")
  }
}
