/// Searches the bytes of JSON strings, 16 at a time.
///
/// The pointers are raw by design: callers own the memory, and `start <= end` bounds every access.
public enum JSONBytes {
  @usableFromInline static let highBits: UInt64 = 0x8080_8080_8080_8080

  /// Returns the first byte that needs special treatment: a quote, a backslash, a control or a non-ASCII byte; `end` if
  /// there is none.
  @inlinable
  @inline(__always)
  public static func firstSpecial(_ start: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>) -> UnsafePointer<UInt8> {
    scan(start, end, nonASCII: highBits)
  }

  /// Returns the first quote, backslash or control byte, ignoring bytes above 0x7F; `end` if there is none.
  @inlinable
  @inline(__always)
  public static func firstDelimiter(_ start: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>) -> UnsafePointer<UInt8>
  {
    scan(start, end, nonASCII: 0)
  }

  @inlinable
  @inline(__always)
  static func scan(
    _ start: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>, nonASCII: UInt64
  ) -> UnsafePointer<UInt8> {
    var next = start
    while end - next >= 16 {
      let found = flags16(UnsafeRawPointer(next), nonASCII: nonASCII)
      if found.low != 0 { return next + (found.low.trailingZeroBitCount &>> 3) }
      if found.high != 0 { return next + 8 + (found.high.trailingZeroBitCount &>> 3) }
      next += 16
    }
    return scanTail(next, end, nonASCII: nonASCII)
  }

  /// Scans the last bytes of a text, fewer than 16.
  @inlinable
  static func scanTail(
    _ start: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>, nonASCII: UInt64
  ) -> UnsafePointer<UInt8> {
    var next = start
    while next < end {
      let byte = next.pointee
      if byte < 0x20 || byte == 0x22 || byte == 0x5C || (byte >= 0x80 && nonASCII != 0) { return next }
      next += 1
    }
    return next
  }

  /// Returns a flag in the high bit of each of 16 bytes: set for a quote, a backslash, a control byte or, depending on
  /// `nonASCII`, a byte above 0x7F.
  @inlinable
  @inline(__always)
  static func flags16(_ source: UnsafeRawPointer, nonASCII: UInt64) -> (low: UInt64, high: UInt64) {
    // Vectors are compared with vectors, because the operators that take a scalar compile to a loop over the lanes.
    let bytes = source.loadUnaligned(as: SIMD16<UInt8>.self)
    let mask =
      (bytes .== SIMD16<UInt8>(repeating: 0x22)) .| (bytes .== SIMD16<UInt8>(repeating: 0x5C))
      .| (bytes .< SIMD16<UInt8>(repeating: 0x20))
    let words = unsafeBitCast(mask, to: SIMD2<UInt64>.self)
    let raw = unsafeBitCast(bytes, to: SIMD2<UInt64>.self)
    return (
      UInt64(littleEndian: words[0] | (raw[0] & nonASCII)) & highBits,
      UInt64(littleEndian: words[1] | (raw[1] & nonASCII)) & highBits
    )
  }

  /// Compares `count` bytes at both addresses. Compiles to a few comparisons if the compiler knows `count`.
  @inlinable
  @inline(__always)
  public static func equal(_ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>, count: Int) -> Bool {
    let a = UnsafeRawPointer(left)
    let b = UnsafeRawPointer(right)
    if count >= 8 {
      var offset = 0
      while offset <= count &- 8 {
        if load64(a + offset) != load64(b + offset) { return false }
        offset &+= 8
      }
      return load64(a + (count &- 8)) == load64(b + (count &- 8))
    }
    if count >= 4 { return load32(a) == load32(b) && load32(a + (count &- 4)) == load32(b + (count &- 4)) }
    if count >= 2 { return load16(a) == load16(b) && load16(a + (count &- 2)) == load16(b + (count &- 2)) }
    return count == 0 || left.pointee == right.pointee
  }

  /// Returns whether a byte is zero.
  static func containsZero(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let base = bytes.baseAddress else { return false }
    var place = UnsafeRawPointer(base)
    let end = place + bytes.count
    while end - place >= 16 {
      if zeroes(load64(place)) | zeroes(load64(place + 8)) != 0 { return true }
      place += 16
    }
    if bytes.count >= 16 { return zeroes(load64(end - 16)) | zeroes(load64(end - 8)) != 0 }
    if bytes.count >= 8 { return zeroes(load64(place)) | zeroes(load64(end - 8)) != 0 }
    while place < end {
      if place.load(as: UInt8.self) == 0 { return true }
      place += 1
    }
    return false
  }

  /// Returns 0 if no byte of the word is zero.
  @inline(__always)
  private static func zeroes(_ word: UInt64) -> UInt64 {
    (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080
  }

  @inlinable @inline(__always) static func load64(_ p: UnsafeRawPointer) -> UInt64 { p.loadUnaligned(as: UInt64.self) }
  @inlinable @inline(__always) static func load32(_ p: UnsafeRawPointer) -> UInt32 { p.loadUnaligned(as: UInt32.self) }
  @inlinable @inline(__always) static func load16(_ p: UnsafeRawPointer) -> UInt16 { p.loadUnaligned(as: UInt16.self) }
}
