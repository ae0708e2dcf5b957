/// The hashes of an object's names. Most objects have few: these are searched one by one, without a table.
struct NameSet: Sendable, Hashable {
  private static let fewMax = 16

  private var few: [UInt64] = []
  /// All of them once they are more than a few.
  private var many: Set<UInt64> = []

  init(_ hashes: [UInt64] = []) {
    for hash in hashes { _ = insert(hash) }
  }

  var count: Int { many.isEmpty ? few.count : many.count }
  var hashes: [UInt64] { many.isEmpty ? few : Array(many) }

  /// False if it is there already.
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

  /// Keeps the memory for the next object with a few names.
  mutating func removeAll() {
    few.removeAll(keepingCapacity: true)
    if !many.isEmpty { many = [] }
  }
}
