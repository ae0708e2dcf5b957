/// Finds the ranges that a target has in common with its base. Indexes the base's blocks by a rolling hash, searches
/// the target for them byte by byte, and extends each match in both directions.
struct DeltaEncoder {
  private let base: UnsafeRawBufferPointer
  private let target: UnsafeRawBufferPointer
  private let deltaBytesMax: Int
  private var delta: [UInt8] = []
  /// The end of the last copy in the base.
  private var copied = 0
  /// The start of the part of the target that is not written yet.
  private var written = 0

  init(base: UnsafeRawBufferPointer, target: UnsafeRawBufferPointer, deltaBytesMax: Int) {
    self.base = base
    self.target = target
    self.deltaBytesMax = deltaBytesMax
  }

  mutating func encode() -> [UInt8]? {
    delta = ByteDelta.magic
    varint(UInt64(base.count))
    varint(UInt64(target.count))
    let common = Self.commonPrefix(base, 0, target, 0, .max)
    if common > 0 { copy(from: 0, common) }
    if common < target.count, !search() { return nil }
    insert(upTo: target.count)
    return delta.count <= deltaBytesMax ? delta : nil
  }

  /// Searches the target from `written` on.
  ///
  /// - Returns: False if the delta becomes too large.
  private mutating func search() -> Bool {
    guard let index = BlockIndex(base) else { return true }
    let block = index.blockBytes
    var position = written
    guard target.count - position >= block else { return tail() }
    var hash = index.hash(target, position)
    while true {
      if let match = best(index, hash, position) {
        insert(upTo: position - match.back)
        copy(from: match.start - match.back, match.back + match.length)
        if delta.count > deltaBytesMax { return false }
        position = written
        guard target.count - position >= block else { return tail() }
        hash = index.hash(target, position)
        continue
      }
      guard target.count - position > block else { return tail() }
      hash = index.rolled(hash, out: target[position], in: target[position + block])
      position += 1
      if position - written > deltaBytesMax { return false }
    }
  }

  /// Handles the rest, which is shorter than a block: it may still match the end of the base.
  private mutating func tail() -> Bool {
    var length = 0
    let longest = min(base.count, target.count - written)
    while length < longest, base[base.count - 1 - length] == target[target.count - 1 - length] { length += 1 }
    if length >= 8 {
      insert(upTo: target.count - length)
      copy(from: base.count - length, length)
    }
    return delta.count <= deltaBytesMax
  }

  /// Returns the longest match of the block at `position`: its start in the base, its length, and the number of bytes
  /// that it extends backwards.
  private func best(_ index: BlockIndex, _ hash: UInt64, _ position: Int) -> (start: Int, length: Int, back: Int)? {
    var found: (start: Int, length: Int)?
    index.forEach(hash) { start in
      // Limits the cost of comparing one candidate; the best one is extended below.
      let length = Self.commonPrefix(base, start, target, position, 4096)
      if length >= index.blockBytes, length > found?.length ?? 0 { found = (start, length) }
    }
    guard let found else { return nil }
    let length =
      found.length
      + Self.commonPrefix(base, found.start + found.length, target, position + found.length, .max)
    var back = 0
    while back < min(position - written, found.start), base[found.start - back - 1] == target[position - back - 1] {
      back += 1
    }
    return (found.start, length, back)
  }

  /// Returns the length of the common prefix, at most `limit`.
  private static func commonPrefix(
    _ left: UnsafeRawBufferPointer, _ leftStart: Int, _ right: UnsafeRawBufferPointer, _ rightStart: Int, _ limit: Int
  ) -> Int {
    let longest = min(left.count - leftStart, right.count - rightStart, limit)
    var length = 0
    while longest - length >= 8 {
      let difference =
        left.loadUnaligned(fromByteOffset: leftStart + length, as: UInt64.self).littleEndian
        ^ right.loadUnaligned(fromByteOffset: rightStart + length, as: UInt64.self).littleEndian
      if difference != 0 { return length + difference.trailingZeroBitCount / 8 }
      length += 8
    }
    while length < longest, left[leftStart + length] == right[rightStart + length] { length += 1 }
    return length
  }

  private mutating func copy(from start: Int, _ length: Int) {
    varint(UInt64(length) << 1 | 1)
    let distance = Int64(start - copied)
    varint(UInt64(bitPattern: distance << 1 ^ distance >> 63))
    copied = start + length
    written += length
  }

  private mutating func insert(upTo end: Int) {
    guard end > written else { return }
    varint(UInt64(end - written) << 1)
    // `search` limits the delta's size before the bytes are appended.
    delta.append(contentsOf: target[written..<end])
    written = end
  }

  private mutating func varint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      delta.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    delta.append(UInt8(truncatingIfNeeded: rest))
  }
}
