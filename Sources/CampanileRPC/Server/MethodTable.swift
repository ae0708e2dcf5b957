/// Finds a value by the bytes of a name, without making a string of them.
struct MethodTable<Value: Sendable>: Sendable {
  private struct Slot: Sendable {
    var name: [UInt8]
    var value: Value
  }
  private var slots: [Slot] = []
  /// Indices into `slots`, −1 for none; open addressing over a power of two at least twice the count.
  private var buckets: [Int32] = []

  /// Later entries of the same name win.
  init(_ entries: [(name: String, value: Value)]) {
    var bucketCount = 4
    while bucketCount < entries.count * 2 { bucketCount *= 2 }
    buckets = Array(repeating: -1, count: bucketCount)
    for entry in entries { insert(Slot(name: Array(entry.name.utf8), value: entry.value)) }
  }

  private mutating func insert(_ slot: Slot) {
    var bucket = slot.name.withUnsafeBytes { Self.hash($0) } & (buckets.count - 1)
    while buckets[bucket] >= 0 {
      let index = Int(buckets[bucket])
      if slots[index].name == slot.name {
        slots[index] = slot
        return
      }
      bucket = (bucket + 1) & (buckets.count - 1)
    }
    buckets[bucket] = Int32(slots.count)
    slots.append(slot)
  }

  @inline(__always)
  subscript(name: UnsafeRawBufferPointer) -> Value? {
    var bucket = Self.hash(name) & (buckets.count - 1)
    while buckets[bucket] >= 0 {
      let index = Int(buckets[bucket])
      let isSame = slots[index].name.withUnsafeBytes { candidate in
        guard candidate.count == name.count else { return false }
        for at in 0..<name.count where candidate[at] != name[at] { return false }
        return true
      }
      if isSame { return slots[index].value }
      bucket = (bucket + 1) & (buckets.count - 1)
    }
    return nil
  }

  var values: [Value] { slots.map(\.value) }

  /// FNV-1a over eight bytes at a time and the length: names are the server's own, so collisions cannot be provoked.
  @inline(__always)
  private static func hash(_ bytes: UnsafeRawBufferPointer) -> Int {
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
