/// The complete state of a scanner between two chunks, except for its sink.
struct ScanState: Sendable, Hashable {
  /// The kind of token that the next byte belongs to. The raw values are stored in saved states.
  enum Lexeme: UInt8, Sendable, Hashable {
    /// Between tokens.
    case none
    /// In a string, at the start of a character.
    case string
    /// After a backslash.
    case escape
    /// In the digits of `\u`; `progress` of them are read into `codeUnit`.
    case hex
    /// After the escape of a high surrogate, whose low surrogate must follow.
    case highSurrogate
    /// After a high surrogate and a backslash.
    case lowSurrogate
    /// In a UTF-8 sequence: `progress` bytes are missing, the next one is in `lowest...highest`.
    case utf8
    /// In a number; `progress` is a `NumberState`.
    case number
    /// In `true`, `false` or `null`; `lowest` is the first byte of the literal, and `progress` bytes are read.
    case literal
  }

  /// The part of a number that was read last.
  enum NumberState: UInt8 {
    case minus, zero, integer, point, fraction, exponent, exponentSign, exponentDigits

    /// Whether the number may end here.
    var isComplete: Bool {
      switch self {
      case .zero, .integer, .fraction, .exponentDigits: true
      case .minus, .point, .exponent, .exponentSign: false
      }
    }
  }

  var expecting = Grammar.Expecting.topValue
  var lexeme = Lexeme.none
  var progress: UInt8 = 0
  var lowest: UInt8 = 0
  var highest: UInt8 = 0
  /// The code unit of the escape being read, as far as it is known.
  var codeUnit: UInt16 = 0
  /// Whether the escape being read must be a low surrogate.
  var needsLow = false
  /// Whether the string being read is a name.
  var inName = false
  /// The number of bytes read.
  var offset: Int64 = 0
  /// The first byte of the value; 0 before it.
  var firstByte: UInt8 = 0
  /// The number of open arrays and objects.
  var depth = 0
  var deepest = 0
  /// Up to 64 innermost open levels, the innermost in bit 0; 1 marks an object.
  var innermost: UInt64 = 0
  /// The outer levels, 64 per element, outermost first.
  var outer: [UInt64] = []

  var isInObject: Bool { innermost & 1 != 0 }

  /// Opens an array or object; false if `depthMax` are open.
  mutating func open(isObject: Bool, depthMax: Int) -> Bool {
    if depth >= depthMax { return false }
    if depth > 0, depth & 63 == 0 {
      outer.append(innermost)
      innermost = 0
    }
    innermost = innermost &<< 1 | (isObject ? 1 : 0)
    depth &+= 1
    if depth > deepest { deepest = depth }
    return true
  }

  /// Closes the innermost level; the grammar ensures that there is one. Returns the next state.
  mutating func close() -> UInt8 {
    depth &-= 1
    innermost &>>= 1
    if depth & 63 == 0 {
      if depth <= 0 { return Grammar.Expecting.nothing }
      innermost = outer.popLast() ?? 0
    }
    return isInObject ? Grammar.Expecting.memberEnd : Grammar.Expecting.elementEnd
  }
}
