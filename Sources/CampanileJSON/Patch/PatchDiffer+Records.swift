/// The `id` of every element of an array of records.
struct RecordIds {
  let ids: [JSONValue]
  let index: [JSONValue: Int]

  /// Nil unless all elements are objects with a unique `id` that is a string or a number.
  init?(_ elements: [JSONValue]) {
    var ids: [JSONValue] = []
    var index: [JSONValue: Int] = [:]
    ids.reserveCapacity(elements.count)
    index.reserveCapacity(elements.count)
    for (position, element) in elements.enumerated() {
      guard let id = element["id"], id.kind == .string || id.kind == .number,
        index.updateValue(position, forKey: id) == nil
      else { return nil }
      ids.append(id)
    }
    self.ids = ids
    self.index = index
  }
}

extension PatchDiffer {
  /// Compares two arrays of records by id.
  ///
  /// Removes deleted records from last to first, moves the others into their new order, adds new ones from first to
  /// last, and then compares the contents of the records.
  ///
  /// - Returns: False if more than `movesMax` records have moved.
  mutating func compareRecords(_ old: [JSONValue], _ new: [JSONValue], _ oldIds: RecordIds, _ newIds: RecordIds) -> Bool
  {
    var current: [Int] = []
    for (position, id) in oldIds.ids.enumerated() {
      if newIds.index[id] != nil { current.append(position) }
    }
    let target = newIds.ids.compactMap { oldIds.index[$0] }
    guard let moves = Self.moves(from: current, to: target, atMost: limits.movesMax) else { return false }
    for (position, id) in oldIds.ids.enumerated().reversed() where newIds.index[id] == nil {
      inside(String(position)) { differ, path in differ.emit(.remove(path: path)) }
    }
    for move in moves {
      inside(String(move.to)) { differ, path in
        let from = JSONPointer(tokens: path.tokens.dropLast() + [String(move.from)])
        differ.emit(.move(from: from, path: path))
      }
    }
    for (position, id) in newIds.ids.enumerated() where oldIds.index[id] == nil {
      inside(String(position)) { differ, path in differ.emit(.add(path: path, value: new[position]), new[position]) }
    }
    for (position, id) in newIds.ids.enumerated() {
      guard let before = oldIds.index[id] else { continue }
      inside(String(position)) { differ, _ in differ.compare(old[before], new[position]) }
    }
    return true
  }

  /// Returns the fewest moves that turn one permutation into the other: a longest increasing subsequence is not moved.
  /// Nil if there are more than `limit`.
  static func moves(from current: [Int], to target: [Int], atMost limit: Int) -> [(from: Int, to: Int)]? {
    if current == target { return [] }
    var rank: [Int: Int] = [:]
    for (position, value) in target.enumerated() { rank[value] = position }
    let kept = longestIncreasing(current.map { rank[$0] ?? 0 })
    guard target.count - kept.count <= limit else { return nil }
    var working = current
    var moves: [(from: Int, to: Int)] = []
    for (position, value) in target.enumerated() where !kept.contains(position) {
      guard let from = working.firstIndex(of: value) else { continue }
      working.remove(at: from)
      // After its predecessor in the new order, which already has its position.
      let to = position == 0 ? 0 : (working.firstIndex(of: target[position - 1]) ?? -1) + 1
      working.insert(value, at: to)
      if from != to { moves.append((from, to)) }
    }
    return moves
  }

  /// Returns the values of a longest increasing subsequence of distinct numbers.
  private static func longestIncreasing(_ values: [Int]) -> Set<Int> {
    var tails: [Int] = []
    var previous = [Int](repeating: -1, count: values.count)
    for (position, value) in values.enumerated() {
      var low = 0
      var high = tails.count
      while low < high {
        let middle = (low + high) / 2
        if values[tails[middle]] < value { low = middle + 1 } else { high = middle }
      }
      previous[position] = low > 0 ? tails[low - 1] : -1
      if low == tails.count { tails.append(position) } else { tails[low] = position }
    }
    var result: Set<Int> = []
    var position = tails.last ?? -1
    while position >= 0 {
      result.insert(values[position])
      position = previous[position]
    }
    return result
  }
}
