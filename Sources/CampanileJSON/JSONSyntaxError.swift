/// Why bytes are not a JSON text (RFC 8259), and where.
public struct JSONSyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What kind of mistake it is.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The stable name, UPPER_SNAKE.
    public let description: String

    private init(_ description: String) {
      self.description = description
    }

    /// A byte that the grammar does not allow there (sections 2 to 7).
    public static let unexpectedByte = Code("JSON_UNEXPECTED_BYTE")
    /// The text ends before its value does.
    public static let unexpectedEnd = Code("JSON_UNEXPECTED_END")
    /// Something that is no white space follows the value.
    public static let trailingBytes = Code("JSON_TRAILING_BYTES")
    /// A control character in a string that is not escaped (section 7).
    public static let controlCharacter = Code("JSON_CONTROL_CHARACTER")
    /// A backslash is followed by no legal escape (section 7).
    public static let invalidEscape = Code("JSON_INVALID_ESCAPE")
    /// A `\u` escape names half of a surrogate pair, and `JSONLimits.loneSurrogates` rejects that.
    public static let loneSurrogate = Code("JSON_LONE_SURROGATE")
    /// A string is not UTF-8 (section 8.1, RFC 3629).
    public static let invalidUTF8 = Code("JSON_INVALID_UTF8")
    /// More arrays and objects are open than `JSONLimits.depthMax` (section 9).
    public static let depthExceeded = Code("JSON_DEPTH_EXCEEDED")
    /// The text is longer than `JSONLimits.sizeBytesMax` (section 9).
    public static let sizeExceeded = Code("JSON_SIZE_EXCEEDED")
    /// The open objects have more names than `JSONLimits.namesMax`, and duplicates are to be reported.
    public static let namesExceeded = Code("JSON_NAMES_EXCEEDED")
  }

  public var code: Code
  /// Where the byte is that cannot be there; the length of the text when it ends too early.
  public var byteOffset: Int64
  /// What could have been there instead, such as `',' or ']'`.
  public var expected: String
  /// What is there instead, such as `'x'`, `byte 0xC0` or `the end`.
  public var found: String

  public init(_ code: Code, byteOffset: Int64, expected: String, found: String) {
    self.code = code
    self.byteOffset = byteOffset
    self.expected = expected
    self.found = found
  }

  init(_ code: Code, at byteOffset: Int64, expected: String, byte: UInt8) {
    self.init(code, byteOffset: byteOffset, expected: expected, found: Self.name(of: byte))
  }

  /// One sentence: `expected ',' or ']' at byte 1234, found 'x'`.
  public var message: String { "expected \(expected) at byte \(byteOffset), found \(found)" }

  public var description: String { "\(code): \(message)" }

  private static func name(of byte: UInt8) -> String {
    if (0x21...0x7E).contains(byte) { return "'\(Character(UnicodeScalar(byte)))'" }
    let digits = String(byte, radix: 16, uppercase: true)
    return "byte 0x" + (digits.count == 1 ? "0" : "") + digits
  }
}
