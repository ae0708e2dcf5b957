extension JSONBytes {
  /// Returns the first byte that is not part of well-formed UTF-8 (RFC 3629), or nil if there is none.
  ///
  /// Overlong forms, surrogates, code points above U+10FFFF, and sequences truncated by `end` are malformed.
  public static func firstInvalidUTF8(
    _ start: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>
  ) -> UnsafePointer<UInt8>? {
    var next = start
    while next < end {
      if end - next >= 8, load64(UnsafeRawPointer(next)) & highBits == 0 {
        next += 8
        continue
      }
      let length = sequenceLength(next, end)
      if length == 0 { return next }
      next += length
    }
    return nil
  }

  /// Returns the length of the well-formed sequence at `next`, which is before `end`; 0 if it is malformed.
  private static func sequenceLength(_ next: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>) -> Int {
    let lead = next.pointee
    if lead < 0x80 { return 1 }
    let left = end - next
    // The second byte's range excludes overlong forms, surrogates and code points above U+10FFFF (RFC 3629, section 4).
    var lowest: UInt8 = 0x80
    var highest: UInt8 = 0xBF
    let length: Int
    switch lead {
    case 0xC2...0xDF: length = 2
    case 0xE0...0xEF:
      length = 3
      if lead == 0xE0 { lowest = 0xA0 }
      if lead == 0xED { highest = 0x9F }
    case 0xF0...0xF4:
      length = 4
      if lead == 0xF0 { lowest = 0x90 }
      if lead == 0xF4 { highest = 0x8F }
    default: return 0
    }
    guard left >= length, next[1] >= lowest, next[1] <= highest else { return 0 }
    if length >= 3, next[2] & 0xC0 != 0x80 { return 0 }
    if length == 4, next[3] & 0xC0 != 0x80 { return 0 }
    return length
  }
}
