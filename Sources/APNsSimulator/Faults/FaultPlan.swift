import CampanileBase
internal import CampanileRPC

/// The scripted faults, in the order of their addition.
struct FaultPlan: Sendable {
  private(set) var rules: [FaultRule] = []
  private var lastID = 0
  private var random: SplitMix64

  /// Creates a plan without faults.
  ///
  /// - Parameter seed: The same seed and requests produce the same faults.
  init(seed: UInt64) { random = SplitMix64(seed: seed) }

  /// Adds a fault and returns its id.
  mutating func add(_ rule: FaultRule) -> Int {
    lastID += 1
    var rule = rule
    rule.id = lastID
    rules.append(rule)
    return lastID
  }

  /// Removes a fault. Returns whether it existed.
  mutating func remove(_ id: Int) -> Bool {
    let count = rules.count
    rules.removeAll { $0.id == id }
    return rules.count < count
  }

  /// Removes faults that can no longer occur.
  mutating func removeEnded(nowMs: Int64) { rules.removeAll { $0.isOver(nowMs: nowMs) } }

  mutating func removeAll() { rules.removeAll() }

  /// Returns the faults for a request: the sum of the delays up to the first fault of another kind, and that fault.
  mutating func next(_ context: PushContext) -> (delayMs: Int64, action: FaultAction?) {
    guard !rules.isEmpty else { return (0, nil) }
    var delayMs: Int64 = 0
    for index in rules.indices {
      guard !rules[index].isOver(nowMs: context.nowMs), rules[index].match.fits(context) else { continue }
      rules[index].matched += 1
      guard rules[index].matched.isMultiple(of: rules[index].every) else { continue }
      if rules[index].probability < 1, Double.random(in: 0..<1, using: &random) >= rules[index].probability { continue }
      rules[index].applied += 1
      if let remaining = rules[index].remaining { rules[index].remaining = remaining - 1 }
      guard case .delay(let minMs, let maxMs) = rules[index].action else { return (delayMs, rules[index].action) }
      delayMs += Int64.random(in: minMs...maxMs, using: &random)
    }
    return (delayMs, nil)
  }
}
