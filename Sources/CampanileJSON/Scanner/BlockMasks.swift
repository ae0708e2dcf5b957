#if arch(x86_64) && canImport(_Builtin_intrinsics)
  import _Builtin_intrinsics.intel
#endif

/// Bit masks that classify the 64 bytes of a block: bit `i` of each mask corresponds to byte `i`.
struct BlockMasks {
  var quote: UInt64
  var backslash: UInt64
  /// `{}[]:,`
  var structural: UInt64
  /// The space and the control characters below it.
  var upToSpace: UInt64
  var space: UInt64
  /// Bytes above 0x7F.
  var nonASCII: UInt64

  /// - Parameter base: At least 64 readable bytes.
  @inline(__always)
  init(_ base: UnsafeRawPointer) {
    let (a, b, c, d) = (Quarter(base, 0), Quarter(base, 16), Quarter(base, 32), Quarter(base, 48))
    quote = a.quote | b.quote &<< 16 | c.quote &<< 32 | d.quote &<< 48
    backslash = a.backslash | b.backslash &<< 16 | c.backslash &<< 32 | d.backslash &<< 48
    structural = a.structural | b.structural &<< 16 | c.structural &<< 32 | d.structural &<< 48
    upToSpace = a.upToSpace | b.upToSpace &<< 16 | c.upToSpace &<< 32 | d.upToSpace &<< 48
    space = a.space | b.space &<< 16 | c.space &<< 32 | d.space &<< 48
    nonASCII = a.nonASCII | b.nonASCII &<< 16 | c.nonASCII &<< 32 | d.nonASCII &<< 48
  }

  /// Clears the bits from `length` on. `length` is less than 64.
  mutating func cut(to length: Int) {
    let kept = (1 as UInt64) &<< UInt64(length) &- 1
    quote &= kept
    backslash &= kept
    structural &= kept
    upToSpace &= kept
    space &= kept
    nonASCII &= kept
  }

  @inline(__always)
  static func bits(_ mask: SIMDMask<SIMD16<Int8>>) -> UInt64 {
    highBits(unsafeBitCast(mask, to: SIMD16<UInt8>.self))
  }

  /// Returns the highest bit of each byte.
  @inline(__always)
  static func highBits(_ bytes: SIMD16<UInt8>) -> UInt64 {
    #if arch(x86_64) && canImport(_Builtin_intrinsics)
      return UInt64(UInt32(bitPattern: _mm_movemask_epi8(unsafeBitCast(bytes, to: SIMD2<Int64>.self))))
    #else
      let halves = unsafeBitCast(bytes, to: SIMD2<UInt64>.self)
      return gather(halves[0]) | gather(halves[1]) &<< 8
    #endif
  }

  /// Gathers the highest bits of eight bytes with one multiplication: bit 8 i + 7 moves to 56 + i, without carries.
  @inline(__always)
  static func gather(_ bytes: UInt64) -> UInt64 {
    (((bytes & 0x8080_8080_8080_8080) &>> 7) &* 0x0102_0408_1020_4080) &>> 56
  }

  /// Returns the prefix parity: bit `i` is the parity of bits 0 to `i`, so it is 1 between an odd and an even quote.
  @inline(__always)
  static func prefixParity(_ bits: UInt64) -> UInt64 {
    var parity = bits
    parity ^= parity &<< 1
    parity ^= parity &<< 2
    parity ^= parity &<< 4
    parity ^= parity &<< 8
    parity ^= parity &<< 16
    parity ^= parity &<< 32
    return parity
  }
}

/// The masks of 16 bytes.
private struct Quarter {
  typealias Bytes = SIMD16<UInt8>

  let quote: UInt64
  let backslash: UInt64
  let structural: UInt64
  let upToSpace: UInt64
  let space: UInt64
  let nonASCII: UInt64

  // An operator with a scalar operand compiles to a loop, so each operand is a vector.
  @inline(__always)
  init(_ base: UnsafeRawPointer, _ offset: Int) {
    let bytes = base.loadUnaligned(fromByteOffset: offset, as: Bytes.self)
    quote = BlockMasks.bits(bytes .== Bytes(repeating: 0x22))
    backslash = BlockMasks.bits(bytes .== Bytes(repeating: 0x5C))
    space = BlockMasks.bits(bytes .== Bytes(repeating: 0x20))
    // The bit 0x20 is the only difference between '[' and '{', and between ']' and '}'.
    let folded = bytes | Bytes(repeating: 0x20)
    let brackets = (folded .== Bytes(repeating: 0x7B)) .| (folded .== Bytes(repeating: 0x7D))
    structural = BlockMasks.bits(brackets .| (bytes .== Bytes(repeating: 0x2C)) .| (bytes .== Bytes(repeating: 0x3A)))
    upToSpace = BlockMasks.bits(bytes .<= Bytes(repeating: 0x20))
    nonASCII = BlockMasks.highBits(bytes)
  }
}
