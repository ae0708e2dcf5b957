/// Hints that spare most pushes a query for other pushes of their lane and for dead letters. Pure.
///
/// On a database that other processes may use, they are never learned: every lane may hold a push, and there may be
/// dead letters.
///
/// Hints err on one side only: a stored row is always known, even if the write that added it was rolled back. A removal
/// counts only after its transaction commits.
struct QueueHints: Sendable {
  /// Maximum number of lanes to remember. Beyond it, every lane is queried until the process restarts.
  static let lanesMax = 20_000

  /// Lanes that may hold a push, and whether one may wait there behind another. Nil if any lane may.
  private var lanes: [String: Bool]?
  private var emptied: Set<String> = []
  private(set) var mayHoldDeadLetters = true
  private var lacksDeadLetters = false

  /// Discards the findings of a transaction, when one begins or was rolled back.
  mutating func begin() {
    emptied.removeAll(keepingCapacity: true)
    lacksDeadLetters = false
  }

  /// Applies the findings of a committed transaction.
  mutating func keep() {
    for lane in emptied { lanes?.removeValue(forKey: lane) }
    if lacksDeadLetters { mayHoldDeadLetters = false }
    begin()
  }

  /// Sets the hints from the contents of the database at startup.
  mutating func learn(lanes: [(lane: String, isCrowded: Bool)], hasDeadLetters: Bool) {
    self.lanes =
      lanes.count > Self.lanesMax ? nil : Dictionary(lanes.map { ($0.lane, $0.isCrowded) }) { $0 || $1 }
    mayHoldDeadLetters = hasDeadLetters
  }

  /// Returns whether the lane may hold a push.
  func mayHold(lane: String) -> Bool { lanes.map { $0[lane] != nil } ?? true }

  /// Returns whether a push of the lane may wait behind another.
  func mayHoldMore(lane: String) -> Bool { lanes.map { $0[lane] ?? false } ?? true }

  /// Records a queued push, either the first of its lane or behind another.
  mutating func added(lane: String, isBehind: Bool) {
    emptied.remove(lane)
    if isBehind || lanes?[lane] == nil { lanes?[lane] = isBehind }
    if let count = lanes?.count, count > Self.lanesMax { lanes = nil }
  }

  /// Records that the lane is empty.
  mutating func foundEmpty(lane: String) { if lanes != nil { emptied.insert(lane) } }

  mutating func addedDeadLetter() {
    mayHoldDeadLetters = true
    lacksDeadLetters = false
  }

  mutating func foundNoDeadLetters() { lacksDeadLetters = true }
}
