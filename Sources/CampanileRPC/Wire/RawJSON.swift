/// JSON text that is passed on without being decoded: its structure is checked, and its values are found.
public enum RawJSON {
  /// The most containers inside one another. An envelope adds some, which its reader's limit has room for.
  public static let depthMax = 60

  public struct Member: Sendable, Hashable {
    /// With its escapes resolved.
    public var name: String
    /// Where the value lies.
    public var value: Range<Int>
  }

  /// Checks that `bytes` are one value of RFC 8259 in UTF-8 and nothing else, so that they may stand inside other JSON.
  ///
  /// Throws INVALID_ARGUMENT `BODY_NOT_JSON` that tells where it is not, or `BODY_NOT_OBJECT` for a value of another type.
  public static func checkObject(_ bytes: UnsafeRawBufferPointer) throws(RPCError) {
    try checkValue(bytes)
    var scanner = JSONScanner(bytes)
    guard scanner.peek() == UInt8(ascii: "{") else {
      throw RPCError(.invalidArgument, "the message must be a JSON object", reason: "BODY_NOT_OBJECT", processed: false)
    }
  }

  /// The same for a value of any type.
  public static func checkValue(_ bytes: UnsafeRawBufferPointer) throws(RPCError) {
    var scanner = JSONScanner(bytes)
    do throws(JSONScanner.Fault) {
      _ = scanner.peek()
      try scanner.skipValue(depthMax: depthMax)
      _ = scanner.peek()
      if scanner.index < scanner.end { throw scanner.fault("the end of the message") }
    } catch {
      throw RPCError(
        .invalidArgument, "the message is not JSON: expected \(error.expected) at byte \(error.byteOffset)",
        reason: "BODY_NOT_JSON", errorMetadata: ["byteOffset": String(error.byteOffset)], processed: false)
    }
  }

  /// The members of the object at `range`, in order; `nil` when the value there is no object. For text that was checked.
  public static func members(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> [Member]? {
    var start = range.lowerBound
    while start < range.upperBound, isSpace(bytes[start]) { start += 1 }
    guard var reader = JSONObjectReader(bytes, start..<range.upperBound) else { return nil }
    var found: [Member] = []
    while let member = reader.next() { found.append(Member(name: member.name, value: member.value)) }
    return found
  }

  /// The values of the array at `range`, in order; `nil` when the value there is none. For text that was checked.
  public static func elements(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> [Range<Int>]? {
    JSONObjectReader.elements(bytes, range, countMax: .max)
  }

  /// The text of the string at `range`; `nil` when the value there is none. For text that was checked.
  public static func string(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> String? {
    JSONObjectReader.string(bytes, range)
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
  }
}
