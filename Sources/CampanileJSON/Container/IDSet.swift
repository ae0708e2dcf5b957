/// A set of hashes that are already evenly distributed by a secret key, so that their low bits serve as the index.
///
/// Unlike the standard library's `Set`, it does not hash the hash again. A lookup takes one memory access; an entry
/// takes 16 to 32 bytes.
struct IDSet: Sendable, Hashable {
  /// An open-addressing table. Its size is a power of two and it is at most half full; 0 marks an empty slot.
  private var places: [UInt64]
  private var count = 0
  /// Whether 0 itself is a member.
  private var hasZero = false

  init(_ hashes: [UInt64] = []) {
    places = [UInt64](repeating: 0, count: Self.size(for: hashes.count))
    for hash in hashes { _ = insert(hash) }
  }

  private static func size(for count: Int) -> Int {
    var size = 64
    while size < 2 * count { size *= 2 }
    return size
  }

  /// All members, in no particular order.
  var hashes: [UInt64] { places.filter { $0 != 0 } + (hasZero ? [0] : []) }

  /// Inserts a hash.
  ///
  /// - Returns: False if it is already a member.
  mutating func insert(_ hash: UInt64) -> Bool {
    if hash == 0 {
      defer { hasZero = true }
      return !hasZero
    }
    if 2 * count >= places.count { grow() }
    let isNew = places.withUnsafeMutableBufferPointer { Self.place(hash, in: $0) }
    if isNew { count += 1 }
    return isNew
  }

  private static func place(_ hash: UInt64, in places: UnsafeMutableBufferPointer<UInt64>) -> Bool {
    let mask = places.count - 1
    var index = Int(truncatingIfNeeded: hash) & mask
    while places[index] != 0 {
      if places[index] == hash { return false }
      index = (index + 1) & mask
    }
    places[index] = hash
    return true
  }

  private mutating func grow() {
    var larger = [UInt64](repeating: 0, count: places.count * 2)
    larger.withUnsafeMutableBufferPointer { target in
      for hash in places where hash != 0 { _ = Self.place(hash, in: target) }
    }
    places = larger
  }

  static func == (left: Self, right: Self) -> Bool { Set(left.hashes) == Set(right.hashes) }

  func hash(into hasher: inout Hasher) { hasher.combine(count) }
}
