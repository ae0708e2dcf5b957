/// Where a scanner is in a text: all that it knows between two chunks, apart from its sink.
struct ScanState: Sendable, Hashable {
  /// What kind of token the next byte is in. The raw values are kept in saved states.
  enum Lexeme: UInt8, Sendable, Hashable {
    /// Between tokens.
    case none
    /// In a string, at the start of a character.
    case string
    /// Behind a backslash.
    case escape
    /// In the digits of `\u`; `progress` of them are read into `codeUnit`.
    case hex
    /// Behind an escape that names the first half of a pair, of which the second must follow.
    case highSurrogate
    /// Behind that and a backslash.
    case lowSurrogate
    /// In a UTF-8 sequence: `progress` bytes are missing, the next one is in `lowest...highest`.
    case utf8
    /// In a number; `progress` is a `NumberState`.
    case number
    /// In `true`, `false` or `null`; `progress` bytes of the one that `lowest` starts are read.
    case literal
  }

  /// What of a number is read.
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
  /// The code unit that an escape names so far.
  var codeUnit: UInt16 = 0
  /// Whether the escape being read must be the second half of a pair.
  var needsLow = false
  /// Whether the string being read is a name.
  var inName = false
  /// The bytes read.
  var offset: Int64 = 0
  /// The first byte of the value, 0 before it.
  var firstByte: UInt8 = 0
  /// How many arrays and objects are open.
  var depth = 0
  var deepest = 0
  /// The innermost up to 64 open ones, the innermost in bit 0; 1 is an object.
  var innermost: UInt64 = 0
  /// The outer ones, 64 each, the outermost first.
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

  /// Closes the innermost; the grammar has seen that there is one. Answers what is expected then.
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
