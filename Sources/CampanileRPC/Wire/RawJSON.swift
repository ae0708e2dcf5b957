public import CampanileBase

/// Checks and reads JSON text that is forwarded without being decoded.
public enum RawJSON {
  /// The maximum nesting depth. The envelope adds some levels, for which its reader's limit has room.
  public static let depthMax = 60

  public struct Member: Sendable, Hashable {
    /// The name with its escapes resolved.
    public var name: String
    /// The range of the value.
    public var value: Range<Int>
  }

  /// Checks that `bytes` are exactly one RFC 8259 object in UTF-8, so that they may be inserted into other JSON.
  ///
  /// - Throws: INVALID_ARGUMENT `BODY_NOT_JSON` with the position of the fault, or `BODY_NOT_OBJECT` for a value of
  ///   another type.
  public static func checkObject(_ bytes: UnsafeRawBufferPointer) throws(RPCError) {
    try checkValue(bytes)
    var scanner = WireJSONScanner(bytes)
    guard scanner.peek() == UInt8(ascii: "{") else {
      throw RPCError(.invalidArgument, "the message must be a JSON object", reason: "BODY_NOT_OBJECT", processed: false)
    }
  }

  /// Checks that `bytes` are exactly one value of any type; see `checkObject`.
  public static func checkValue(_ bytes: UnsafeRawBufferPointer) throws(RPCError) {
    var scanner = WireJSONScanner(bytes)
    do throws(WireJSONScanner.Fault) {
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

  /// Returns the members of the object at `range`, in order; `nil` if the value is not an object. The text must have
  /// been checked.
  public static func members(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> [Member]? {
    var start = range.lowerBound
    while start < range.upperBound, isSpace(bytes[start]) { start += 1 }
    guard var reader = JSONObjectReader(bytes, start..<range.upperBound) else { return nil }
    var found: [Member] = []
    while let member = reader.next() { found.append(Member(name: member.name, value: member.value)) }
    return found
  }

  /// Returns the ranges of the array's values, in order; `nil` if the value is not an array. The text must have been
  /// checked.
  public static func elements(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> [Range<Int>]? {
    JSONObjectReader.elements(bytes, range, countMax: .max)
  }

  /// Returns the text of the string at `range`; `nil` if the value is not a string. The text must have been checked.
  public static func string(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> String? {
    JSONObjectReader.string(bytes, range)
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
  }
}
