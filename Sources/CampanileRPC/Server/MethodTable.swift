/// A hash table keyed by the bytes of a name, so that a lookup creates no string.
public struct MethodTable<Value: Sendable>: Sendable {
  @usableFromInline
  struct Slot: Sendable {
    @usableFromInline var name: [UInt8]
    @usableFromInline var value: Value

    @usableFromInline
    init(name: [UInt8], value: Value) {
      self.name = name
      self.value = value
    }
  }
  @usableFromInline private(set) var slots: [Slot] = []
  /// Indices into `slots`, −1 for none. Open addressing with a power-of-two size, at most half full, so that a search
  /// ends.
  @usableFromInline private(set) var buckets: [Int32]

  /// Creates a table. For entries with the same name, the last value wins.
  public init(_ entries: [(name: String, value: Value)]) {
    var bucketCount = 4
    while bucketCount < entries.count * 2 { bucketCount *= 2 }
    buckets = Array(repeating: -1, count: bucketCount)
    for entry in entries {
      let name = Array(entry.name.utf8)
      let bucket = name.withUnsafeBytes { find($0) }
      if buckets[bucket] >= 0 {
        slots[Int(buckets[bucket])].value = entry.value
      } else {
        buckets[bucket] = Int32(slots.count)
        slots.append(Slot(name: name, value: entry.value))
      }
    }
  }

  /// The values in the order in which their names first occurred.
  public var values: [Value] { slots.map(\.value) }

  // Inlinable, because the gateway uses its own table for each call.
  @inlinable @inline(__always)
  public subscript(name: UnsafeRawBufferPointer) -> Value? {
    let index = buckets[find(name)]
    return index >= 0 ? slots[Int(index)].value : nil
  }

  /// Returns the bucket that holds `name`, or the empty one where it would be inserted.
  @inlinable @inline(__always)
  func find(_ name: UnsafeRawBufferPointer) -> Int {
    var bucket = Self.hash(name) & (buckets.count - 1)
    while buckets[bucket] >= 0 {
      let isSame = slots[Int(buckets[bucket])].name.withUnsafeBytes { candidate in
        guard candidate.count == name.count else { return false }
        for at in 0..<name.count where candidate[at] != name[at] { return false }
        return true
      }
      if isSame { return bucket }
      bucket = (bucket + 1) & (buckets.count - 1)
    }
    return bucket
  }

  /// A multiplicative hash: eight bytes at a time by the golden-ratio constant, the rest as FNV-1a. Names are the
  /// operator's own, so callers cannot provoke collisions.
  @inlinable @inline(__always)
  static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325 ^ UInt64(bytes.count)
    var index = 0
    while index + 8 <= bytes.count {
      hash = (hash ^ bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)) &* 0x9e37_79b9_7f4a_7c15
      hash ^= hash >> 29
      index += 8
    }
    while index < bytes.count {
      hash = (hash ^ UInt64(bytes[index])) &* 0x0000_0100_0000_01b3
      index += 1
    }
    return Int(truncatingIfNeeded: hash ^ hash >> 32) & Int.max
  }
}
