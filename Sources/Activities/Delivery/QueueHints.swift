/// What the queue may hold that most pushes need not look for: others of their lane, and dead letters. Pure.
///
/// It errs on one side only: what is there is always known, also when the write that put it there was undone since. What is
/// found to be gone counts once the transaction that found it is kept.
struct QueueHints: Sendable {
  /// Lanes that are remembered; once there are more, every lane is asked until the process starts again.
  static let lanesMax = 20_000

  /// Lanes that may hold a push, and whether one may wait there behind another. Nil when that may be so of any lane.
  private var lanes: [String: Bool]?
  private var emptied: Set<String> = []
  private(set) var mayHoldDeadLetters = true
  private var lacksDeadLetters = false

  /// A transaction begins, or was lost: nothing that it found counts.
  mutating func begin() {
    emptied.removeAll(keepingCapacity: true)
    lacksDeadLetters = false
  }

  /// The transaction was kept.
  mutating func keep() {
    for lane in emptied { lanes?.removeValue(forKey: lane) }
    if lacksDeadLetters { mayHoldDeadLetters = false }
    begin()
  }

  /// What the database holds at the start.
  mutating func learn(lanes: [(lane: String, isCrowded: Bool)], hasDeadLetters: Bool) {
    self.lanes =
      lanes.count > Self.lanesMax ? nil : Dictionary(lanes.map { ($0.lane, $0.isCrowded) }) { $0 || $1 }
    mayHoldDeadLetters = hasDeadLetters
  }

  /// Whether the lane may hold a push.
  func mayHold(lane: String) -> Bool { lanes.map { $0[lane] != nil } ?? true }

  /// Whether a push of the lane may wait behind another.
  func mayHoldMore(lane: String) -> Bool { lanes.map { $0[lane] ?? false } ?? true }

  /// A push was queued, the first of its lane or behind another.
  mutating func added(lane: String, isBehind: Bool) {
    emptied.remove(lane)
    if isBehind || lanes?[lane] == nil { lanes?[lane] = isBehind }
    if let count = lanes?.count, count > Self.lanesMax { lanes = nil }
  }

  /// The lane holds nothing.
  mutating func foundEmpty(lane: String) { if lanes != nil { emptied.insert(lane) } }

  mutating func addedDeadLetter() {
    mayHoldDeadLetters = true
    lacksDeadLetters = false
  }

  mutating func foundNoDeadLetters() { lacksDeadLetters = true }
}
