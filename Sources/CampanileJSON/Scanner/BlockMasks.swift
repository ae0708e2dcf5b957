#if arch(x86_64) && canImport(_Builtin_intrinsics)
  import _Builtin_intrinsics.intel
#endif

/// Which of 64 bytes are what: bit `i` of a mask speaks of byte `i`.
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

  /// `base` has 64 readable bytes.
  @inline(__always)
  init(_ base: UnsafeRawPointer) {
    self.init(base, 0)
    merge(BlockMasks(base, 16), 16)
    merge(BlockMasks(base, 32), 32)
    merge(BlockMasks(base, 48), 48)
  }

  @inline(__always)
  private init(_ base: UnsafeRawPointer, _ offset: Int) {
    let bytes = base.loadUnaligned(fromByteOffset: offset, as: SIMD16<UInt8>.self)
    quote = Self.bits(bytes .== 0x22)
    backslash = Self.bits(bytes .== 0x5C)
    space = Self.bits(bytes .== 0x20)
    // The bit 0x20 tells '[' from '{' and ']' from '}'.
    let folded = bytes | 0x20
    structural = Self.bits((folded .== 0x7B) .| (folded .== 0x7D) .| (bytes .== 0x2C) .| (bytes .== 0x3A))
    upToSpace = Self.bits(bytes .<= 0x20)
    nonASCII = Self.highBits(bytes)
  }

  @inline(__always)
  private mutating func merge(_ other: BlockMasks, _ shift: UInt64) {
    quote |= other.quote &<< shift
    backslash |= other.backslash &<< shift
    structural |= other.structural &<< shift
    upToSpace |= other.upToSpace &<< shift
    space |= other.space &<< shift
    nonASCII |= other.nonASCII &<< shift
  }

  /// Leaves the first `length` bytes, fewer than 64.
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
  private static func bits(_ mask: SIMDMask<SIMD16<Int8>>) -> UInt64 {
    highBits(unsafeBitCast(mask, to: SIMD16<UInt8>.self))
  }

  /// The highest bit of each byte.
  @inline(__always)
  private static func highBits(_ bytes: SIMD16<UInt8>) -> UInt64 {
    #if arch(x86_64) && canImport(_Builtin_intrinsics)
      return UInt64(UInt32(bitPattern: _mm_movemask_epi8(unsafeBitCast(bytes, to: SIMD2<Int64>.self))))
    #else
      let halves = unsafeBitCast(bytes, to: SIMD2<UInt64>.self)
      return gather(halves[0]) | gather(halves[1]) &<< 8
    #endif
  }

  /// The highest bits of eight bytes, gathered by one multiplication: bit 8 i + 7 is moved to 56 + i, without carries.
  @inline(__always)
  static func gather(_ bytes: UInt64) -> UInt64 {
    ((bytes & 0x8080_8080_8080_8080) &>> 7) &* 0x0102_0408_1020_4080 &>> 56
  }

  /// Every bit is the parity of the bits up to it: between an odd and an even quote it is 1.
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
