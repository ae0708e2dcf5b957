/// Delivery of a block's content to sinks that want it.
extension JSONScanner {
  /// Delivers the rest of a string that started before the block.
  @inline(__always)
  mutating func continueString(_ block: UnsafeRawPointer, _ length: Int, _ closing: UInt64) {
    let end = closing == 0 ? length : closing.trailingZeroBitCount
    if end > 0 { sink.stringBytes(isName: state.inName, UnsafeRawBufferPointer(start: block, count: end)) }
    if closing != 0 { sink.endString(isName: state.inName) }
  }

  /// Delivers the string whose opening quote is at `index`, up to the end of the block.
  ///
  /// - Parameter isPlain: Whether the block has no escapes.
  @inline(__always)
  mutating func string(
    _ block: UnsafeRawPointer, _ index: Int, _ length: Int, _ closing: UInt64, isName: Bool, isPlain: Bool,
    _ offset: Int64
  ) {
    state.inName = isName
    // Two shifts instead of one, because a shift by 64 would have no effect.
    let behind = (closing &>> UInt64(index)) &>> 1
    let start = index &+ 1
    if behind != 0 {
      let bytes = UnsafeRawBufferPointer(start: block + start, count: behind.trailingZeroBitCount)
      return sink.string(isName: isName, bytes, isPlain: isPlain, at: offset &+ Int64(index))
    }
    sink.beginString(isName: isName, at: offset &+ Int64(index))
    if length > start {
      sink.stringBytes(isName: isName, UnsafeRawBufferPointer(start: block + start, count: length &- start))
    }
  }

  /// Delivers a complete number or literal.
  @inline(__always)
  mutating func scalar(_ start: UnsafeRawPointer, _ size: Int) {
    sink.beginScalar(start.load(as: UInt8.self), at: state.offset)
    sink.scalarBytes(UnsafeRawBufferPointer(start: start, count: size))
    sink.endScalar()
  }

  /// Returns the length of the well-formed number or literal at `start`; 0 if it is malformed or may continue after the
  /// `available` bytes.
  @inline(__always)
  static func scalarLength(_ start: UnsafeRawPointer, _ available: Int) -> Int {
    let first = start.load(as: UInt8.self)
    if first > 0x39 { return literalLength(start, available, first) }
    var index = first == UInt8(ascii: "-") ? 1 : 0
    guard index < available else { return 0 }
    let lead = byte(start, index)
    guard ASCII.isDigit(lead) else { return 0 }
    index &+= 1
    if lead != UInt8(ascii: "0") { index = digits(start, index, available) }
    guard index < available else { return 0 }
    var next = byte(start, index)
    if next == UInt8(ascii: ".") {
      let point = index &+ 1
      index = digits(start, point, available)
      guard index > point, index < available else { return 0 }
      next = byte(start, index)
    }
    if next | 0x20 == UInt8(ascii: "e") {
      index &+= 1
      guard index < available else { return 0 }
      next = byte(start, index)
      if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { index &+= 1 }
      let exponent = index
      index = digits(start, exponent, available)
      guard index > exponent, index < available else { return 0 }
      next = byte(start, index)
    }
    return isEnd(next) ? index : 0
  }

  @inline(__always)
  private static func byte(_ start: UnsafeRawPointer, _ index: Int) -> UInt8 {
    start.load(fromByteOffset: index, as: UInt8.self)
  }

  @inline(__always)
  private static func digits(_ start: UnsafeRawPointer, _ from: Int, _ available: Int) -> Int {
    var index = from
    while index < available, ASCII.isDigit(byte(start, index)) { index &+= 1 }
    return index
  }

  @inline(__always)
  private static func literalLength(_ start: UnsafeRawPointer, _ available: Int, _ first: UInt8) -> Int {
    let size = first == UInt8(ascii: "f") ? 5 : 4
    guard available > size, isEnd(byte(start, size)) else { return 0 }
    let word = UInt32(littleEndian: start.loadUnaligned(as: UInt32.self))
    let isLiteral =
      switch first {
      case UInt8(ascii: "t"): word == 0x6575_7274
      case UInt8(ascii: "n"): word == 0x6C6C_756E
      default: word == 0x736C_6166 && byte(start, 4) == UInt8(ascii: "e")
      }
    return isLiteral ? size : 0
  }

  /// Whether a scalar may end before `byte`. The grammar rejects any other byte that must not follow a scalar.
  @inline(__always)
  private static func isEnd(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") || byte == 0x20 || byte == 0x0A
      || byte == 0x0D || byte == 0x09
  }
}
