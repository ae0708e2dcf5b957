/// Scanning of numbers and literals, byte by byte.
extension JSONScanner {
  mutating func beginScalar(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "-"): number(.minus)
    case UInt8(ascii: "0"): number(.zero)
    case UInt8(ascii: "1")...UInt8(ascii: "9"): number(.integer)
    default:
      state.lexeme = .literal
      state.lowest = byte
      state.progress = 1
    }
  }

  private mutating func number(_ number: ScanState.NumberState) {
    state.lexeme = .number
    state.progress = number.rawValue
  }

  /// Reads the next byte of a number. Returns false if the number is complete and `byte` is not part of it.
  mutating func inNumber(_ byte: UInt8, _ bytes: UnsafeRawBufferPointer) throws(JSONSyntaxError) -> Bool {
    guard let current = ScanState.NumberState(rawValue: state.progress) else { throw unexpected(byte) }
    guard let next = Self.next(current, byte) else {
      if current.isComplete, !Self.continuesNumber(byte) {
        state.lexeme = .none
        if Sink.wantsContent { sink.endScalar() }
        return false
      }
      throw error(.unexpectedByte, Self.expectation(current), byte)
    }
    state.progress = next.rawValue
    if Sink.wantsContent { sink.scalarBytes(bytes) }
    return true
  }

  /// Whether `byte` is a digit after a leading zero, which is an error of the number. The grammar rejects other invalid
  /// bytes.
  private static func continuesNumber(_ byte: UInt8) -> Bool { ASCII.isDigit(byte) }

  private static func next(_ current: ScanState.NumberState, _ byte: UInt8) -> ScanState.NumberState? {
    let isDigit = ASCII.isDigit(byte)
    switch current {
    case .minus: return byte == 0x30 ? .zero : isDigit ? .integer : nil
    case .zero, .integer:
      if isDigit { return current == .integer ? .integer : nil }
      if byte == UInt8(ascii: ".") { return .point }
      return byte | 0x20 == UInt8(ascii: "e") ? .exponent : nil
    case .point: return isDigit ? .fraction : nil
    case .fraction: return isDigit ? .fraction : byte | 0x20 == UInt8(ascii: "e") ? .exponent : nil
    case .exponent:
      if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { return .exponentSign }
      return isDigit ? .exponentDigits : nil
    case .exponentSign, .exponentDigits: return isDigit ? .exponentDigits : nil
    }
  }

  private static func expectation(_ current: ScanState.NumberState) -> String {
    switch current {
    case .minus, .point, .exponentSign: "a digit"
    case .exponent: "a digit or a sign"
    case .zero: "no digit after a leading zero"
    case .integer, .fraction, .exponentDigits: "the end of the number"
    }
  }

  /// Returns the literal that starts with `first`.
  private static func literal(_ first: UInt8) -> StaticString {
    switch first {
    case UInt8(ascii: "t"): "true"
    case UInt8(ascii: "f"): "false"
    default: "null"
    }
  }

  mutating func inLiteral(_ byte: UInt8, _ bytes: UnsafeRawBufferPointer) throws(JSONSyntaxError) {
    let literal = Self.literal(state.lowest)
    let wanted = literal.withUTF8Buffer { text in
      Int(state.progress) < text.count ? text[Int(state.progress)] : 0
    }
    guard byte == wanted else { throw error(.unexpectedByte, "the literal \(literal)", byte) }
    state.progress &+= 1
    if Sink.wantsContent { sink.scalarBytes(bytes) }
    if Int(state.progress) == literal.utf8CodeUnitCount {
      state.lexeme = .none
      if Sink.wantsContent { sink.endScalar() }
    }
  }

  /// The input expected at the end of an incomplete text, for error messages.
  var expectation: String {
    switch state.lexeme {
    case .none: Grammar.expectation(state.expecting)
    case .string, .escape, .hex, .highSurrogate, .lowSurrogate, .utf8: "the end of a string"
    case .number: ScanState.NumberState(rawValue: state.progress).map(Self.expectation) ?? "a digit"
    case .literal: "the literal \(Self.literal(state.lowest))"
    }
  }
}
