/// An incremental SipHash-1-3 with a random key, so that a sender of names cannot provoke collisions.
///
/// Unlike the standard library's `Hasher`, its state and key can be saved.
struct NameHash: Sendable, Hashable {
  private let key0: UInt64
  private let key1: UInt64
  private var v0: UInt64 = 0
  private var v1: UInt64 = 0
  private var v2: UInt64 = 0
  private var v3: UInt64 = 0
  private var tail: UInt64 = 0
  private var count: UInt64 = 0

  init() {
    var random = SystemRandomNumberGenerator()
    self.init(key0: random.next(), key1: random.next())
  }

  init(key0: UInt64, key1: UInt64) {
    self.key0 = key0
    self.key1 = key1
    reset()
  }

  mutating func reset() {
    v0 = key0 ^ 0x736F_6D65_7073_6575
    v1 = key1 ^ 0x646F_7261_6E64_6F6D
    v2 = key0 ^ 0x6C79_6765_6E65_7261
    v3 = key1 ^ 0x7465_6462_7974_6573
    tail = 0
    count = 0
  }

  @inline(__always)
  mutating func combine(_ byte: UInt8) {
    tail |= UInt64(byte) &<< ((count & 7) &* 8)
    count &+= 1
    if count & 7 != 0 { return }
    compress(tail)
    tail = 0
  }

  /// Adds bytes, eight at a time where they are aligned to the hash's words.
  mutating func combine(_ bytes: UnsafeRawBufferPointer) {
    var index = 0
    if count & 7 == 0 {
      while index &+ 8 <= bytes.count {
        compress(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)))
        count &+= 8
        index &+= 8
      }
    }
    while index < bytes.count {
      combine(bytes[index])
      index &+= 1
    }
  }

  /// The hash of the bytes added so far.
  var value: UInt64 {
    var copy = self
    copy.compress(tail | count &<< 56)
    copy.v2 ^= 0xFF
    for _ in 0..<3 { copy.round() }
    return copy.v0 ^ copy.v1 ^ copy.v2 ^ copy.v3
  }

  private mutating func compress(_ word: UInt64) {
    v3 ^= word
    round()
    v0 ^= word
  }

  @inline(__always)
  private mutating func round() {
    v0 = v0 &+ v1
    v1 = Self.rotated(v1, 13) ^ v0
    v0 = Self.rotated(v0, 32)
    v2 = v2 &+ v3
    v3 = Self.rotated(v3, 16) ^ v2
    v0 = v0 &+ v3
    v3 = Self.rotated(v3, 21) ^ v0
    v2 = v2 &+ v1
    v1 = Self.rotated(v1, 17) ^ v2
    v2 = Self.rotated(v2, 32)
  }

  @inline(__always)
  private static func rotated(_ word: UInt64, _ bits: UInt64) -> UInt64 { word &<< bits | word &>> (64 &- bits) }

  func save(to writer: inout StateWriter) {
    for word in [key0, key1, v0, v1, v2, v3, tail, count] { writer.write(word) }
  }

  init(from reader: inout StateReader) throws(JSONStateError) {
    key0 = try reader.uint64()
    key1 = try reader.uint64()
    v0 = try reader.uint64()
    v1 = try reader.uint64()
    v2 = try reader.uint64()
    v3 = try reader.uint64()
    tail = try reader.uint64()
    count = try reader.uint64()
  }
}
