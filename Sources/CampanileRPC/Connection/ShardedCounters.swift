import Synchronization

/// Monotonic counters sharded by event loop; reads sum the shards.
///
/// An addition to a shard that only one thread writes costs a tenth of an atomic one on one core. On several cores it
/// takes no cache line away from another loop. Safe from any thread: threads without a shard add atomically to
/// `CounterShard.shared`.
///
/// `@unchecked Sendable` because of its pointers to rows: each is set once, atomically, and everything it points to is
/// atomic.
package final class ShardedCounters: @unchecked Sendable {
  /// The size of a cache line; rows of different loops share none.
  private static let alignmentBytes = 64

  package let slotCount: Int
  /// The row of each shard, allocated at its first addition; the shared row is the first.
  private let rows = UnsafeMutablePointer<Atomic<UnsafeMutablePointer<Atomic<Int>>?>>.allocate(
    capacity: CounterShard.ownMax + 1)

  /// - Parameter slotCount: The number of counters, at least 1.
  package init(slotCount: Int) {
    self.slotCount = max(1, slotCount)
    for shard in 0...CounterShard.ownMax { (rows + shard).initialize(to: Atomic(nil)) }
  }

  deinit {
    for shard in 0...CounterShard.ownMax { Self.release(rows[shard].load(ordering: .acquiring)) }
    rows.deallocate()
  }

  /// Adds to the counter at `slot`, which must be below `slotCount`.
  package func add(_ amount: Int, at slot: Int, on shard: CounterShard) {
    assert((0..<slotCount).contains(slot), "slot out of range")
    Self.add(amount, to: row(shard.index) + slot, on: shard)
  }

  /// Counts at `slot`, and adds to the counter at `sumSlot`. Both must be below `slotCount`.
  @inline(__always)
  func count(at slot: Int, adding amount: Int, at sumSlot: Int, on shard: CounterShard) {
    assert((0..<slotCount).contains(slot) && (0..<slotCount).contains(sumSlot), "slot out of range")
    let row = row(shard.index)
    Self.add(1, to: row + slot, on: shard)
    Self.add(amount, to: row + sumSlot, on: shard)
  }

  @inline(__always)
  private static func add(_ amount: Int, to cell: UnsafeMutablePointer<Atomic<Int>>, on shard: CounterShard) {
    if shard.index == 0 {
      cell.pointee.wrappingAdd(amount, ordering: .relaxed)
    } else {
      cell.pointee.store(cell.pointee.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
    }
  }

  /// Returns the counter at `slot`, summed over all shards. Concurrent additions may be missed.
  package func total(_ slot: Int) -> Int {
    var total = 0
    for shard in 0...CounterShard.ownMax {
      if let row = rows[shard].load(ordering: .acquiring) { total &+= row[slot].load(ordering: .relaxed) }
    }
    return total
  }

  /// All counters by slot, each summed over all shards. Concurrent additions may be missed.
  package var totals: [Int] {
    var totals = [Int](repeating: 0, count: slotCount)
    for shard in 0...CounterShard.ownMax {
      guard let row = rows[shard].load(ordering: .acquiring) else { continue }
      for slot in totals.indices { totals[slot] &+= row[slot].load(ordering: .relaxed) }
    }
    return totals
  }

  @inline(__always)
  private func row(_ shard: Int) -> UnsafeMutablePointer<Atomic<Int>> {
    if let row = rows[shard].load(ordering: .acquiring) { return row }
    return makeRow(shard)
  }

  @inline(never)
  private func makeRow(_ shard: Int) -> UnsafeMutablePointer<Atomic<Int>> {
    let sizeBytes = slotCount * MemoryLayout<Atomic<Int>>.stride
    let lines = (sizeBytes + Self.alignmentBytes - 1) / Self.alignmentBytes
    let raw = UnsafeMutableRawPointer.allocate(
      byteCount: lines * Self.alignmentBytes, alignment: Self.alignmentBytes)
    let made = raw.bindMemory(to: Atomic<Int>.self, capacity: slotCount)
    for slot in 0..<slotCount { (made + slot).initialize(to: Atomic(0)) }
    let (isMade, earlier) = rows[shard].compareExchange(expected: nil, desired: made, ordering: .acquiringAndReleasing)
    guard !isMade, let earlier else { return made }
    Self.release(made)
    return earlier
  }

  private static func release(_ row: UnsafeMutablePointer<Atomic<Int>>?) {
    // Atomic integers need no deinitialization.
    if let row { UnsafeMutableRawPointer(row).deallocate() }
  }
}
