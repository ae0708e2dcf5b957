/// A name of up to 16 bytes, or the first 16 bytes of a longer one and its length: enough to distinguish short names.
struct ShortName: Sendable, Hashable {
  private(set) var low: UInt64 = 0
  private(set) var high: UInt64 = 0
  private(set) var count = 0

  init() {}

  init(_ name: String) {
    for byte in name.utf8 { append(byte) }
  }

  init(low: UInt64, high: UInt64, count: Int) {
    self.low = low
    self.high = high
    self.count = count
  }

  /// Creates a name from its complete bytes.
  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer) {
    count = bytes.count
    if count >= 8 {
      low = Self.word(bytes, 0)
      if count >= 16 {
        high = Self.word(bytes, 8)
      } else if count > 8 {
        // The last eight bytes, without those already in `low`.
        high = Self.word(bytes, count &- 8) &>> UInt64((16 &- count) &* 8)
      }
    } else if count >= 4 {
      // The two halves are equal where they overlap.
      low = Self.half(bytes, 0) | Self.half(bytes, count &- 4) &<< UInt64((count &- 4) &* 8)
    } else {
      for index in 0..<count { low |= UInt64(bytes[index]) &<< UInt64(index &* 8) }
    }
  }

  @inline(__always)
  private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
    UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  @inline(__always)
  private static func half(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
    UInt64(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
  }

  /// Appends bytes, usually the complete name.
  @inline(__always)
  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    var index = 0
    if count == 0, bytes.count >= 8 {
      low = UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
      count = 8
      index = 8
      if bytes.count >= 16 {
        high = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        count = bytes.count
        return
      }
    }
    while index < bytes.count {
      append(bytes[index])
      index &+= 1
    }
  }

  @inline(__always)
  mutating func append(_ byte: UInt8) {
    if count < 8 {
      low |= UInt64(byte) &<< UInt64(count &* 8)
    } else if count < 16 {
      high |= UInt64(byte) &<< UInt64((count &- 8) &* 8)
    }
    count &+= 1
  }
}
