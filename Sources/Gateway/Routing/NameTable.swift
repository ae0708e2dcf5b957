/// Finds a value by the bytes of a name without making a string of them: two array reads for a name that is known.
struct NameTable<Value: Sendable>: Sendable {
  private struct Slot: Sendable {
    var name: [UInt8]
    var value: Value
  }
  private var slots: [Slot] = []
  /// Indices into `slots`, −1 for none. Open addressing over a power of two, at most half full, so a search always ends.
  private var buckets: [Int32]

  /// Of entries with the same name the last one counts.
  init(_ entries: [(name: String, value: Value)]) {
    var bucketCount = 8
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

  var values: [Value] { slots.map(\.value) }

  @inline(__always)
  subscript(name: UnsafeRawBufferPointer) -> Value? {
    let index = buckets[find(name)]
    return index >= 0 ? slots[Int(index)].value : nil
  }

  /// The bucket that holds `name`, or the empty one where it would go.
  @inline(__always)
  private func find(_ name: UnsafeRawBufferPointer) -> Int {
    var bucket = Self.hash(name) & (buckets.count - 1)
    while buckets[bucket] >= 0 {
      let isSame = slots[Int(buckets[bucket])].name.withUnsafeBytes { known in
        known.count == name.count && zip(known, name).allSatisfy(==)
      }
      if isSame { return bucket }
      bucket = (bucket + 1) & (buckets.count - 1)
    }
    return bucket
  }

  /// Names are the operator's own, so callers cannot provoke collisions among them.
  @inline(__always)
  private static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
    // FNV-1a over words: a method's name is read eight bytes at a time.
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325 ^ UInt64(bytes.count)
    var index = 0
    while index + 8 <= bytes.count {
      hash = (hash ^ bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)) &* 0x0000_0100_0000_01b3
      hash ^= hash >> 32
      index += 8
    }
    while index < bytes.count {
      hash = (hash ^ UInt64(bytes[index])) &* 0x0000_0100_0000_01b3
      index += 1
    }
    return Int(truncatingIfNeeded: hash ^ hash >> 32) & Int.max
  }
}
