/// The reason and the position at which bytes are not a valid JSON text (RFC 8259).
public struct JSONSyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of error.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The stable name, UPPER_SNAKE.
    public let description: String

    private init(_ description: String) {
      self.description = description
    }

    /// A byte that the grammar does not allow at this position (sections 2 to 7).
    public static let unexpectedByte = Code("JSON_UNEXPECTED_BYTE")
    /// The text ends before its value is complete.
    public static let unexpectedEnd = Code("JSON_UNEXPECTED_END")
    /// A byte other than white space follows the value.
    public static let trailingBytes = Code("JSON_TRAILING_BYTES")
    /// An unescaped control character in a string (section 7).
    public static let controlCharacter = Code("JSON_CONTROL_CHARACTER")
    /// A backslash without a valid escape (section 7).
    public static let invalidEscape = Code("JSON_INVALID_ESCAPE")
    /// A `\u` escape encodes half of a surrogate pair, and `JSONLimits.loneSurrogates` rejects it.
    public static let loneSurrogate = Code("JSON_LONE_SURROGATE")
    /// A string is not valid UTF-8 (section 8.1, RFC 3629).
    public static let invalidUTF8 = Code("JSON_INVALID_UTF8")
    /// More arrays and objects are open than `JSONLimits.depthMax` (section 9).
    public static let depthExceeded = Code("JSON_DEPTH_EXCEEDED")
    /// The text is longer than `JSONLimits.sizeBytesMax` (section 9).
    public static let sizeExceeded = Code("JSON_SIZE_EXCEEDED")
    /// The open objects have more names than `JSONLimits.namesMax`, and duplicates are to be reported.
    public static let namesExceeded = Code("JSON_NAMES_EXCEEDED")
  }

  public var code: Code
  /// The position of the invalid byte; the length of the text if it ends too early.
  public var byteOffset: Int64
  /// The input that would have been valid, such as `',' or ']'`.
  public var expected: String
  /// The input found instead, such as `'x'`, `byte 0xC0` or `the end`.
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
