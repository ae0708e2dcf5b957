/// Bit masks of the bytes in a block that lead a UTF-8 sequence (RFC 3629), by the length of the sequence.
struct UTF8Masks {
  private typealias Bytes = SIMD16<UInt8>

  /// Lead bytes of sequences of at least two, at least three, and four bytes.
  private let two: UInt64
  private let three: UInt64
  private let four: UInt64
  /// 0xC0, 0xC1 and 0xF5 to 0xFF, which occur in no sequence.
  private let never: UInt64
  /// 0xE0, 0xED, 0xF0 and 0xF4, which restrict the byte that follows.
  private let special: UInt64

  /// - Parameter base: At least 64 readable bytes.
  @inline(__always)
  init(_ base: UnsafeRawPointer) {
    var (two, three, four, never, special) = (0 as UInt64, 0 as UInt64, 0 as UInt64, 0 as UInt64, 0 as UInt64)
    for quarter in 0..<4 {
      let bytes = base.loadUnaligned(fromByteOffset: quarter &* 16, as: Bytes.self)
      let shift = UInt64(quarter &* 16)
      two |= Self.bits(bytes .>= Bytes(repeating: 0xC0)) &<< shift
      three |= Self.bits(bytes .>= Bytes(repeating: 0xE0)) &<< shift
      four |= Self.bits(bytes .>= Bytes(repeating: 0xF0)) &<< shift
      let overlong = (bytes & Bytes(repeating: 0xFE)) .== Bytes(repeating: 0xC0)
      never |= Self.bits(overlong .| (bytes .>= Bytes(repeating: 0xF5))) &<< shift
      let bounded = (bytes .== Bytes(repeating: 0xE0)) .| (bytes .== Bytes(repeating: 0xED))
      let outer = (bytes .== Bytes(repeating: 0xF0)) .| (bytes .== Bytes(repeating: 0xF4))
      special |= Self.bits(bounded .| outer) &<< shift
    }
    (self.two, self.three, self.four, self.never, self.special) = (two, three, four, never, special)
  }

  @inline(__always)
  private static func bits(_ mask: SIMDMask<SIMD16<Int8>>) -> UInt64 { BlockMasks.bits(mask) }

  /// Returns the number of bytes of `block` that contain only complete sequences, without a last one that continues in
  /// the next block. Returns 0 if a sequence is malformed.
  ///
  /// - Parameter nonASCII: The mask of the bytes above 0x7F.
  @inline(__always)
  func wellFormed(_ block: UnsafeRawPointer, _ nonASCII: UInt64) -> Int {
    let cut = two & 0x8000_0000_0000_0000 | three & 0xC000_0000_0000_0000 | four & 0xE000_0000_0000_0000
    let length = cut.trailingZeroBitCount
    // Includes the lead byte of the split sequence: a sequence before it that is too short would continue there.
    let looked = length >= 63 ? ~0 : (2 &<< UInt64(length)) &- 1
    let expected = two &<< 1 | three &<< 2 | four &<< 3
    let continuing = nonASCII & ~two
    if (expected ^ continuing) & looked | never & looked != 0 { return 0 }
    var rest = special & (length == 64 ? ~0 : (1 &<< UInt64(length)) &- 1)
    while rest != 0 {
      let index = rest.trailingZeroBitCount
      rest &= rest &- 1
      let second = block.load(fromByteOffset: index &+ 1, as: UInt8.self)
      let isRight =
        switch block.load(fromByteOffset: index, as: UInt8.self) {
        case 0xE0: second >= 0xA0
        case 0xED: second <= 0x9F
        case 0xF0: second >= 0x90
        default: second <= 0x8F
        }
      if !isRight { return 0 }
    }
    return length
  }
}
