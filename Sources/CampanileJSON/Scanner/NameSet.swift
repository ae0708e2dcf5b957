/// The hashes of an object's names. Most objects have few names, which are searched linearly without a table.
struct NameSet: Sendable, Hashable {
  private static let fewMax = 16

  private var few: [UInt64] = []
  /// All hashes once there are more than `fewMax`; empty before.
  private var many: Set<UInt64> = []

  init(_ hashes: [UInt64] = []) {
    for hash in hashes { _ = insert(hash) }
  }

  var count: Int { many.isEmpty ? few.count : many.count }
  var hashes: [UInt64] { many.isEmpty ? few : Array(many) }

  /// Inserts a hash. Returns false if it is already a member.
  mutating func insert(_ hash: UInt64) -> Bool {
    if many.isEmpty {
      if few.contains(hash) { return false }
      if few.count < Self.fewMax {
        few.append(hash)
        return true
      }
      many = Set(few)
    }
    return many.insert(hash).inserted
  }

  /// Removes all hashes, and retains the memory for the next object with few names.
  mutating func removeAll() {
    few.removeAll(keepingCapacity: true)
    if !many.isEmpty { many = [] }
  }
}
