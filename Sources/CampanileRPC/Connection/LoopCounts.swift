import Synchronization

/// Numbers that only grow, each event loop's apart, told as their sums.
///
/// An addition that no other thread makes to the same place costs a tenth of an atomic one on one core, and on several it takes no cache
/// line away from another loop. Safe from any thread: who has no lane of its own adds atomically to `LoopLane.shared`.
///
/// `@unchecked Sendable` for its pointers to rows: these are set atomically and once, and all that they lead to is atomic.
package final class LoopCounts: @unchecked Sendable {
  /// A cache line: rows of different loops share none.
  private static let alignmentBytes = 64

  package let slotCount: Int
  /// The row of each lane, made when it first counts something; the shared one stands first.
  private let rows = InlineArray<17, Atomic<UnsafeMutablePointer<Atomic<Int>>?>>({ _ in Atomic(nil) })

  /// - Parameter slotCount: how many numbers there are; at least 1.
  package init(slotCount: Int) { self.slotCount = max(1, slotCount) }

  deinit {
    for lane in 0...LoopLane.ownMax { Self.release(rows[lane].load(ordering: .acquiring)) }
  }

  /// Adds to the number at `slot`, which must be below `slotCount`.
  package func add(_ amount: Int, at slot: Int, on lane: LoopLane) {
    assert((0..<slotCount).contains(slot), "there is no such number")
    let cell = row(lane.index) + slot
    if lane.index == 0 {
      cell.pointee.wrappingAdd(amount, ordering: .relaxed)
    } else {
      cell.pointee.store(cell.pointee.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
    }
  }

  /// The number at `slot`, of all lanes together. What is added meanwhile may be left out.
  package func total(_ slot: Int) -> Int {
    var total = 0
    for lane in 0...LoopLane.ownMax {
      if let row = rows[lane].load(ordering: .acquiring) { total &+= row[slot].load(ordering: .relaxed) }
    }
    return total
  }

  @inline(__always)
  private func row(_ lane: Int) -> UnsafeMutablePointer<Atomic<Int>> {
    if let row = rows[lane].load(ordering: .acquiring) { return row }
    return makeRow(lane)
  }

  @inline(never)
  private func makeRow(_ lane: Int) -> UnsafeMutablePointer<Atomic<Int>> {
    let sizeBytes = slotCount * MemoryLayout<Atomic<Int>>.stride
    let lines = (sizeBytes + Self.alignmentBytes - 1) / Self.alignmentBytes
    let raw = UnsafeMutableRawPointer.allocate(
      byteCount: lines * Self.alignmentBytes, alignment: Self.alignmentBytes)
    let made = raw.bindMemory(to: Atomic<Int>.self, capacity: slotCount)
    for slot in 0..<slotCount { (made + slot).initialize(to: Atomic(0)) }
    let (isMade, earlier) = rows[lane].compareExchange(expected: nil, desired: made, ordering: .acquiringAndReleasing)
    guard !isMade, let earlier else { return made }
    Self.release(made)
    return earlier
  }

  private static func release(_ row: UnsafeMutablePointer<Atomic<Int>>?) {
    // Atomic words have nothing to tear down.
    if let row { UnsafeMutableRawPointer(row).deallocate() }
  }
}
