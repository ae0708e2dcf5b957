/// Scanning byte by byte: works for every input and reports every error.
extension JSONScanner {
  /// Reads at least `atLeast` bytes from `start`, then on to the end of a token or to `count`. Returns the position
  /// reached.
  mutating func bytes(
    _ base: UnsafeRawPointer, _ start: Int, _ count: Int, atLeast: Int
  ) throws(JSONSyntaxError) -> Int {
    var position = start
    while position < count {
      let isBetween = state.lexeme == .none || state.lexeme == .string
      if isBetween, position &- start >= atLeast { break }
      if sink.isFinished { break }
      if state.lexeme == .string {
        let length = plainLength(base + position, count &- position)
        if length > 0 {
          deliver(UnsafeRawBufferPointer(start: base + position, count: length))
          position &+= length
          state.offset &+= Int64(length)
          continue
        }
      }
      let byte = base.load(fromByteOffset: position, as: UInt8.self)
      if try step(byte, UnsafeRawBufferPointer(start: base + position, count: 1)) {
        position &+= 1
        state.offset &+= 1
      }
    }
    return position
  }

  /// Returns the number of bytes from `start` on that are ASCII characters without special meaning, at most 64.
  private func plainLength(_ start: UnsafeRawPointer, _ count: Int) -> Int {
    let end = min(count, 64)
    var length = 0
    while length < end {
      let byte = start.load(fromByteOffset: length, as: UInt8.self)
      if byte < 0x20 || byte >= 0x80 || byte == 0x22 || byte == 0x5C { break }
      length &+= 1
    }
    return length
  }

  @inline(__always)
  mutating func deliver(_ bytes: UnsafeRawBufferPointer) {
    if Sink.wantsContent { sink.stringBytes(isName: state.inName, bytes) }
  }

  /// Reads one byte.
  ///
  /// - Returns: False if the byte ends a number and must be read again as the next token.
  private mutating func step(_ byte: UInt8, _ bytes: UnsafeRawBufferPointer) throws(JSONSyntaxError) -> Bool {
    switch state.lexeme {
    case .none: try between(byte, bytes)
    case .string: try inString(byte, bytes)
    case .escape:
      try afterBackslash(byte)
      deliver(bytes)
    case .hex:
      try hexDigit(byte)
      deliver(bytes)
    case .highSurrogate:
      guard byte == UInt8(ascii: "\\") else { throw error(.loneSurrogate, "the escape of a low surrogate", byte) }
      state.lexeme = .lowSurrogate
      deliver(bytes)
    case .lowSurrogate:
      guard byte == UInt8(ascii: "u") else { throw error(.loneSurrogate, "the escape of a low surrogate", byte) }
      beginHex(needsLow: true)
      deliver(bytes)
    case .utf8:
      guard byte >= state.lowest, byte <= state.highest else {
        throw error(.invalidUTF8, "a byte that continues a UTF-8 sequence", byte)
      }
      state.progress &-= 1
      state.lowest = 0x80
      state.highest = 0xBF
      if state.progress == 0 { state.lexeme = .string }
      deliver(bytes)
    case .number: return try inNumber(byte, bytes)
    case .literal: try inLiteral(byte, bytes)
    }
    return true
  }

  private mutating func between(_ byte: UInt8, _ bytes: UnsafeRawBufferPointer) throws(JSONSyntaxError) {
    if byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { return }
    let entry = Grammar.tables.entry(state.expecting, Grammar.tables.kind(of: byte))
    let action = entry & Grammar.Action.mask
    if action == Grammar.Action.error { throw unexpected(byte) }
    if state.expecting == Grammar.Expecting.topValue { state.firstByte = byte }
    switch action {
    case Grammar.Action.openObject, Grammar.Action.openArray:
      let isObject = action == Grammar.Action.openObject
      guard state.open(isObject: isObject, depthMax: limits.depthMax) else { throw tooDeep(byte) }
      sink.open(isObject: isObject, at: state.offset)
      state.expecting = entry & 0x0F
    case Grammar.Action.close:
      sink.close(isObject: state.isInObject, at: state.offset)
      state.expecting = state.close()
    case Grammar.Action.name, Grammar.Action.string:
      state.expecting = entry & 0x0F
      state.inName = action == Grammar.Action.name
      state.lexeme = .string
      if Sink.wantsContent { sink.beginString(isName: state.inName, at: state.offset) }
    case Grammar.Action.scalar:
      state.expecting = entry & 0x0F
      beginScalar(byte)
      if Sink.wantsContent {
        sink.beginScalar(byte, at: state.offset)
        sink.scalarBytes(bytes)
      }
    default: state.expecting = entry & 0x0F
    }
  }

  func tooDeep(_ byte: UInt8) -> JSONSyntaxError {
    error(.depthExceeded, "no more than \(limits.depthMax) nested arrays and objects", byte)
  }

  private mutating func inString(_ byte: UInt8, _ bytes: UnsafeRawBufferPointer) throws(JSONSyntaxError) {
    switch byte {
    case UInt8(ascii: "\""):
      state.lexeme = .none
      if Sink.wantsContent { sink.endString(isName: state.inName) }
      return
    case UInt8(ascii: "\\"): state.lexeme = .escape
    case 0..<0x20: throw error(.controlCharacter, "a character that needs no escape", byte)
    case 0x80...: try beginUTF8(byte)
    default: break
    }
    deliver(bytes)
  }

  /// Restricts the second byte to exclude overlong forms, surrogates and values above U+10FFFF (RFC 3629, section 4).
  private mutating func beginUTF8(_ lead: UInt8) throws(JSONSyntaxError) {
    state.lowest = 0x80
    state.highest = 0xBF
    switch lead {
    case 0xC2...0xDF: state.progress = 1
    case 0xE0...0xEF:
      state.progress = 2
      if lead == 0xE0 { state.lowest = 0xA0 }
      if lead == 0xED { state.highest = 0x9F }
    case 0xF0...0xF4:
      state.progress = 3
      if lead == 0xF0 { state.lowest = 0x90 }
      if lead == 0xF4 { state.highest = 0x8F }
    default: throw error(.invalidUTF8, "a character in UTF-8", lead)
    }
    state.lexeme = .utf8
  }

  private mutating func afterBackslash(_ byte: UInt8) throws(JSONSyntaxError) {
    switch byte {
    case UInt8(ascii: "u"): beginHex(needsLow: false)
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      state.lexeme = .string
    default: throw error(.invalidEscape, "one of \"\\/bfnrtu", byte)
    }
  }

  private mutating func beginHex(needsLow: Bool) {
    state.lexeme = .hex
    state.progress = 0
    state.codeUnit = 0
    state.needsLow = needsLow
  }

  private mutating func hexDigit(_ byte: UInt8) throws(JSONSyntaxError) {
    guard let digit = ASCII.hexValue(byte) else { throw error(.invalidEscape, "a hexadecimal digit", byte) }
    state.codeUnit = state.codeUnit &<< 4 | UInt16(digit)
    state.progress &+= 1
    guard state.progress == 4 else { return }
    state.lexeme = .string
    guard limits.loneSurrogates == .reject else { return }
    let isLow = state.codeUnit & 0xFC00 == 0xDC00
    if isLow != state.needsLow { throw error(.loneSurrogate, "the escape of a surrogate pair", byte) }
    if state.codeUnit & 0xFC00 == 0xD800 { state.lexeme = .highSurrogate }
  }
}
