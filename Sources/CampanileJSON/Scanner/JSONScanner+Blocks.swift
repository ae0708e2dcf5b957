/// Scanning in blocks of 64 bytes. A block starts and ends between tokens or at a character boundary within a string.
/// Characters and escapes that the end of a block would split are left to the next one.
///
/// This code only detects errors. It leaves them to `bytes`, which rereads the block from its start and reports the
/// error and its position. The exception is a misplaced token, which is reported here.
extension JSONScanner {
  /// Reads blocks while at least 64 bytes remain.
  ///
  /// - Returns: The position after the last block, or of a block or scalar that `bytes` must read.
  mutating func blocks(_ base: UnsafeRawPointer, _ start: Int, _ count: Int) throws(JSONSyntaxError) -> Int {
    let tables = Grammar.tables
    var position = start
    while count &- position >= 64 {
      let block = base + position
      var masks = BlockMasks(block)
      var length = 64
      if masks.nonASCII != 0 {
        length = UTF8Masks(block).wellFormed(block, masks.nonASCII)
        if length == 0 { return position }
      }
      if masks.backslash != 0 {
        length = min(length, Self.unescape(block, &masks, limits.loneSurrogates))
        if length == 0 { return position }
      }
      if length < 64 { masks.cut(to: length) }
      var strings = BlockMasks.prefixParity(masks.quote)
      if state.lexeme == .string { strings = ~strings }
      let control = masks.upToSpace & ~masks.space
      if control & strings != 0 { return position }
      var blanks = masks.upToSpace
      if control != 0 { blanks = masks.space | Self.lineBlanks(block, control) }
      let others = ~(masks.structural | blanks | strings | masks.quote) & (~0 &>> UInt64(64 &- length))
      let scalars = others & ~(others &<< 1)
      let tokens = (masks.structural & ~strings) | (masks.quote & strings) | scalars
      let closing = masks.quote & ~strings
      if Sink.wantsContent, state.lexeme == .string { continueString(block, length, closing) }
      let read = try walk(
        block, length, tokens, closing, isPlain: Sink.wantsContent && masks.backslash == 0, count &- position, tables)
      if read < 0 { return position &+ ~read }
      let isOpen = length == 64 ? strings &>> 63 != 0 : strings &>> UInt64(length &- 1) & 1 != 0
      state.lexeme = isOpen ? .string : .none
      position &+= read
      if sink.isFinished { return position }
    }
    return position
  }

  /// Reads the tokens of a block.
  ///
  /// - Parameter available: The bytes of the chunk from `block` on.
  /// - Returns: The number of bytes read: `length`, or more if a scalar extends beyond it. The complement of that
  ///   number if `bytes` must read the next scalar.
  @inline(__always)
  private mutating func walk(
    _ block: UnsafeRawPointer, _ length: Int, _ tokens: UInt64, _ closing: UInt64, isPlain: Bool, _ available: Int,
    _ tables: Grammar.Tables
  ) throws(JSONSyntaxError) -> Int {
    var rest = tokens
    var end = length
    var expecting = state.expecting
    let offset = state.offset
    while rest != 0 {
      let index = rest.trailingZeroBitCount
      rest &= rest &- 1
      let byte = block.load(fromByteOffset: index, as: UInt8.self)
      let entry = tables.entry(expecting, tables.kind(of: byte))
      let action = entry & Grammar.Action.mask
      if action < Grammar.Action.scalar {
        if Sink.wantsContent, action != Grammar.Action.none {
          string(
            block, index, length, closing, isName: action == Grammar.Action.name, isPlain: isPlain, offset)
        }
        if expecting == Grammar.Expecting.topValue { state.firstByte = byte }
        expecting = entry & 0x0F
        continue
      }
      state.expecting = expecting
      state.offset = offset &+ Int64(index)
      if action == Grammar.Action.scalar {
        let size = Self.scalarLength(block + index, available &- index)
        if size == 0 {
          state.lexeme = .none
          return ~index
        }
        if Sink.wantsContent { scalar(block + index, size) }
        end = max(end, index &+ size)
      } else if action == Grammar.Action.error {
        throw unexpected(byte)
      } else if action == Grammar.Action.close {
        sink.close(isObject: state.isInObject, at: state.offset)
        expecting = state.close()
        continue
      } else {
        let isObject = action == Grammar.Action.openObject
        guard state.open(isObject: isObject, depthMax: limits.depthMax) else { throw tooDeep(byte) }
        sink.open(isObject: isObject, at: state.offset)
      }
      if expecting == Grammar.Expecting.topValue { state.firstByte = byte }
      expecting = entry & 0x0F
    }
    state.expecting = expecting
    state.offset = offset &+ Int64(end)
    return end
  }

  /// Returns the control characters in `control` that are white space between tokens.
  private static func lineBlanks(_ block: UnsafeRawPointer, _ control: UInt64) -> UInt64 {
    var rest = control
    var blanks: UInt64 = 0
    while rest != 0 {
      let byte = block.load(fromByteOffset: rest.trailingZeroBitCount, as: UInt8.self)
      if byte == 0x0A || byte == 0x0D || byte == 0x09 { blanks |= rest & (0 &- rest) }
      rest &= rest &- 1
    }
    return blanks
  }

  /// Checks the escapes of a block, and clears escaped quotes in `masks`.
  ///
  /// - Returns: The number of bytes that contain only complete escapes; 0 if one is malformed.
  private static func unescape(
    _ block: UnsafeRawPointer, _ masks: inout BlockMasks, _ surrogates: JSONLimits.LoneSurrogates
  ) -> Int {
    var rest = masks.backslash
    while rest != 0 {
      let index = rest.trailingZeroBitCount
      if index == 63 { return 63 }
      let bit: UInt64 = 2 &<< UInt64(index)
      switch block.load(fromByteOffset: index &+ 1, as: UInt8.self) {
      case UInt8(ascii: "\""): masks.quote &= ~bit
      case UInt8(ascii: "\\"): rest &= ~bit
      case UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"),
        UInt8(ascii: "t"):
        break
      case UInt8(ascii: "u"):
        if index > 58 { return index }
        guard let unit = codeUnit(block + (index &+ 2)) else { return 0 }
        if surrogates == .reject, unit & 0xF800 == 0xD800 {
          if index > 52 { return index }
          guard unit & 0xFC00 == 0xD800, block.load(fromByteOffset: index &+ 6, as: UInt8.self) == UInt8(ascii: "\\"),
            block.load(fromByteOffset: index &+ 7, as: UInt8.self) == UInt8(ascii: "u"),
            let low = codeUnit(block + (index &+ 8)), low & 0xFC00 == 0xDC00
          else { return 0 }
          rest &= ~(bit &<< 5)
        }
      default: return 0
      }
      rest &= rest &- 1
    }
    return 64
  }

  /// Returns the code unit of four hexadecimal digits; nil if they are malformed.
  private static func codeUnit(_ digits: UnsafeRawPointer) -> UInt16? {
    var unit: UInt16 = 0
    for index in 0..<4 {
      guard let digit = ASCII.hexValue(digits.load(fromByteOffset: index, as: UInt8.self)) else { return nil }
      unit = unit &<< 4 | UInt16(digit)
    }
    return unit
  }
}
