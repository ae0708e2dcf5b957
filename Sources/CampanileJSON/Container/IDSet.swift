/// A set of hashes that are spread evenly already, by a key that nobody knows: their low bits are their place.
///
/// Beside the standard library's set it saves hashing a hash: one look at memory for each, with 16 to 32 bytes for each.
struct IDSet: Sendable, Hashable {
  /// A power of two, at most half full; 0 is an empty place.
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

  /// All of them, in no order.
  var hashes: [UInt64] { places.filter { $0 != 0 } + (hasZero ? [0] : []) }

  /// False if it is there already.
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
