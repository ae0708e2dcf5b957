extension PatchDiffer {
  /// Retains the common prefix and suffix of both arrays, and the longest common subsequence between them if it is
  /// cheap enough.
  mutating func compareSequences(_ old: [JSONValue], _ new: [JSONValue]) {
    let common = min(old.count, new.count)
    var start = 0
    while start < common, old[start] == new[start] { start += 1 }
    var end = 0
    while end < common - start, old[old.count - 1 - end] == new[new.count - 1 - end] { end += 1 }
    let before = Array(old[start..<(old.count - end)])
    let after = Array(new[start..<(new.count - end)])
    var editor = SequenceEditor(position: start)
    if before.isEmpty || after.isEmpty || before.count > limits.cellsMax / after.count {
      editor.change(before[...], after[...], &self)
      return
    }
    var beforeStart = 0
    var afterStart = 0
    for pair in Self.commonSubsequence(before, after) {
      editor.change(before[beforeStart..<pair.before], after[afterStart..<pair.after], &self)
      editor.position += 1
      beforeStart = pair.before + 1
      afterStart = pair.after + 1
    }
    editor.change(before[beforeStart...], after[afterStart...], &self)
  }

  /// Returns the pairs of a longest common subsequence, by dynamic programming over a table of lengths.
  private static func commonSubsequence(_ before: [JSONValue], _ after: [JSONValue]) -> [(before: Int, after: Int)] {
    let beforeHashes = before.map(\.hashValue)
    let afterHashes = after.map(\.hashValue)
    let width = after.count + 1
    var lengths = [Int32](repeating: 0, count: (before.count + 1) * width)
    func isSame(_ row: Int, _ column: Int) -> Bool {
      beforeHashes[row] == afterHashes[column] && before[row] == after[column]
    }
    for row in stride(from: before.count - 1, through: 0, by: -1) {
      for column in stride(from: after.count - 1, through: 0, by: -1) {
        lengths[row * width + column] =
          isSame(row, column)
          ? lengths[(row + 1) * width + column + 1] + 1
          : max(lengths[(row + 1) * width + column], lengths[row * width + column + 1])
      }
    }
    var pairs: [(before: Int, after: Int)] = []
    var row = 0
    var column = 0
    while row < before.count, column < after.count {
      if isSame(row, column) {
        pairs.append((row, column))
        row += 1
        column += 1
      } else if lengths[(row + 1) * width + column] >= lengths[row * width + column + 1] {
        row += 1
      } else {
        column += 1
      }
    }
    return pairs
  }
}

/// Turns runs of elements into operations. Tracks the position in the array as changed by the operations so far.
private struct SequenceEditor {
  var position: Int

  /// Compares elements at the same index; removes or adds the remaining ones.
  mutating func change(_ before: ArraySlice<JSONValue>, _ after: ArraySlice<JSONValue>, _ differ: inout PatchDiffer) {
    let paired = min(before.count, after.count)
    for (old, new) in zip(before, after) {
      differ.inside(String(position)) { differ, _ in differ.compare(old, new) }
      position += 1
    }
    for _ in 0..<(before.count - paired) {
      differ.inside(String(position)) { differ, path in differ.emit(.remove(path: path)) }
    }
    for value in after.dropFirst(paired) {
      differ.inside(String(position)) { differ, path in differ.emit(.add(path: path, value: value), value) }
      position += 1
    }
  }
}
