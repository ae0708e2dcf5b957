/// Unescapes the bytes between the quotes of a JSON string (RFC 8259, section 7), byte by byte.
///
/// The input must be well-formed; other input has an unspecified result, but does not trap. A lone surrogate becomes
/// the three bytes that UTF-8 would use for it (WTF-8), so that different surrogates remain different.
struct Unescaper: Sendable, Hashable {
  private enum Step: UInt8 {
    case plain, escape, hex
  }

  private var step = Step.plain
  private var digits: UInt8 = 0
  private var unit: UInt16 = 0
  /// A high surrogate whose low surrogate may follow; 0 if there is none.
  private var high: UInt16 = 0

  mutating func reset() {
    self = Unescaper()
  }

  /// Whether unescaping leaves the next `bytes` unchanged: they contain no escape and do not continue one.
  @inline(__always)
  func isIdentity(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if step != .plain || high != 0 { return false }
    var index = 0
    while index &+ 8 <= bytes.count {
      // A zero byte of the word marks a backslash. The test may have false positives above the lowest zero byte only.
      let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self) ^ 0x5C5C_5C5C_5C5C_5C5C
      if (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080 != 0 { return false }
      index &+= 8
    }
    while index < bytes.count {
      if bytes[index] == UInt8(ascii: "\\") { return false }
      index &+= 1
    }
    return true
  }

  @inline(__always)
  mutating func feed(_ bytes: UnsafeRawBufferPointer, _ emit: (UInt8) -> Void) {
    for byte in bytes { feed(byte, emit) }
  }

  @inline(__always)
  mutating func feed(_ byte: UInt8, _ emit: (UInt8) -> Void) {
    if step == .plain, byte != UInt8(ascii: "\\"), high == 0 { return emit(byte) }
    special(byte, emit)
  }

  /// Emits a high surrogate that no low surrogate followed.
  mutating func finish(_ emit: (UInt8) -> Void) {
    flushHigh(emit)
  }

  private mutating func special(_ byte: UInt8, _ emit: (UInt8) -> Void) {
    switch step {
    case .plain:
      if byte == UInt8(ascii: "\\") {
        step = .escape
      } else {
        flushHigh(emit)
        emit(byte)
      }
    case .escape:
      step = .plain
      if byte == UInt8(ascii: "u") {
        step = .hex
        digits = 0
        unit = 0
        return
      }
      flushHigh(emit)
      emit(Self.meaning(of: byte))
    case .hex:
      unit = unit &<< 4 | UInt16(ASCII.hexValue(byte) ?? 0)
      digits &+= 1
      if digits < 4 { return }
      step = .plain
      emitUnit(emit)
    }
  }

  private static func meaning(of letter: UInt8) -> UInt8 {
    switch letter {
    case UInt8(ascii: "b"): 0x08
    case UInt8(ascii: "f"): 0x0C
    case UInt8(ascii: "n"): 0x0A
    case UInt8(ascii: "r"): 0x0D
    case UInt8(ascii: "t"): 0x09
    default: letter
    }
  }

  private mutating func emitUnit(_ emit: (UInt8) -> Void) {
    if high != 0, unit & 0xFC00 == 0xDC00 {
      let scalar = 0x10000 + (UInt32(high & 0x3FF) &<< 10 | UInt32(unit & 0x3FF))
      high = 0
      return Self.encode(scalar, emit)
    }
    flushHigh(emit)
    if unit & 0xFC00 == 0xD800 { high = unit } else { Self.encode(UInt32(unit), emit) }
  }

  private mutating func flushHigh(_ emit: (UInt8) -> Void) {
    if high == 0 { return }
    Self.encode(UInt32(high), emit)
    high = 0
  }

  private static func encode(_ scalar: UInt32, _ emit: (UInt8) -> Void) {
    func low(_ shift: UInt32) -> UInt8 { 0x80 | UInt8(truncatingIfNeeded: scalar &>> shift & 0x3F) }
    switch scalar {
    case 0..<0x80: emit(UInt8(truncatingIfNeeded: scalar))
    case 0x80..<0x800:
      emit(0xC0 | UInt8(truncatingIfNeeded: scalar &>> 6))
      emit(low(0))
    case 0x800..<0x10000:
      emit(0xE0 | UInt8(truncatingIfNeeded: scalar &>> 12))
      emit(low(6))
      emit(low(0))
    default:
      emit(0xF0 | UInt8(truncatingIfNeeded: scalar &>> 18))
      emit(low(12))
      emit(low(6))
      emit(low(0))
    }
  }

  func save(to writer: inout StateWriter) {
    writer.write(UInt64(step.rawValue))
    writer.write(UInt64(digits))
    writer.write(UInt64(unit))
    writer.write(UInt64(high))
  }

  init() {}

  init(from reader: inout StateReader) throws(JSONStateError) {
    guard let step = Step(rawValue: try reader.byte()) else { throw JSONStateError() }
    self.step = step
    digits = try reader.byte(upTo: 4)
    unit = UInt16(try reader.int(in: 0...0xFFFF))
    high = UInt16(try reader.int(in: 0...0xFFFF))
  }
}
