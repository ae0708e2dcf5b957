/// The origin of a login attempt. Failures are counted separately for each origin.
enum LoginOrigin: Sendable, Hashable {
  /// A device with a valid token, by the token's hash.
  case device([UInt8])
  /// The name of an `AddressGroup`.
  case address(String)
  /// A caller without a known address: a program behind a gateway that does not forward it.
  case principal(String)
}

/// Counts failed logins in memory and returns the wait before the next attempt. A state machine without a clock.
///
/// An attempt is counted before its PIN is checked, so that concurrent attempts cannot exceed the limit. A success
/// removes it from the count. Unknown names are counted like others. Failures at one origin never delay an attempt from
/// an origin without failures.
struct LoginThrottle: Sendable {
  /// The number of failures from which attempts must wait, and the time after which one failure is forgotten.
  struct Rule: Sendable {
    var freeMax: Int
    var forgetMs: Int64
  }

  /// Failures of a name from one origin.
  static let ofOrigin = Rule(freeMax: 5, forgetMs: 3_600_000)
  /// Failures of a name from one origin while the name is under attack.
  static let ofOriginUnderAttack = Rule(freeMax: 1, forgetMs: 3_600_000)
  /// Failures from one address group for all names; higher because several members may share an address.
  static let ofAddress = Rule(freeMax: 30, forgetMs: 30_000)
  /// Failures of a name from all origins except known devices. At `freeMax` the name is under attack, which by itself
  /// rejects no attempt.
  static let ofName = Rule(freeMax: 20, forgetMs: 300_000)
  /// The first wait. Each further failure doubles it.
  static let waitMinMs: Int64 = 30_000
  static let waitMaxMs: Int64 = 3_600_000
  /// The time for which a success makes an origin known.
  static let successMs: Int64 = 30 * 24 * 3_600_000
  /// The maximum number of entries for names, addresses, and names at origins. When full, irrelevant entries are
  /// removed first, then the quarter with the oldest last attempt. The hard stop does not depend on them.
  var entriesMax = 10_000

  private enum Key: Hashable {
    case pair(name: String, LoginOrigin)
    case address(String)
    case name(String)
  }

  private struct Entry {
    var failures = 0
    var lastMs: Int64 = 0
    var successMs: Int64?

    func level(_ rule: Rule, nowMs: Int64) -> Int {
      max(0, failures - Int(clamping: max(0, nowMs - lastMs) / rule.forgetMs))
    }

    func waitMs(_ rule: Rule, nowMs: Int64) -> Int64 {
      // A clock that was set back must not delay anyone.
      guard failures >= rule.freeMax, nowMs >= lastMs else { return 0 }
      let doublings = min(failures - rule.freeMax, 16)
      return max(0, lastMs + min(waitMinMs << Int64(doublings), waitMaxMs) - nowMs)
    }

    func matters(_ rule: Rule, nowMs: Int64) -> Bool {
      level(rule, nowMs: nowMs) > 0 || successMs.map { nowMs - $0 < LoginThrottle.successMs } ?? false
    }
  }
  private var entries: [Key: Entry] = [:]

  init() {}

  var entryCount: Int { entries.count }

  /// Counts an attempt.
  ///
  /// - Returns: Nil if the attempt may proceed. Otherwise the milliseconds to wait; the attempt is then not counted.
  mutating func begin(name: String, from origin: LoginOrigin, nowMs: Int64) -> Int64? {
    var waitMs: Int64 = 0
    for (key, rule) in bounds(name, origin, nowMs: nowMs) {
      waitMs = max(waitMs, entries[key]?.waitMs(rule, nowMs: nowMs) ?? 0)
    }
    if waitMs > 0 { return waitMs }
    for (key, rule) in counts(name, origin) {
      if entries[key] == nil, entries.count >= entriesMax { makeRoom(nowMs: nowMs) }
      var entry = entries[key] ?? Entry()
      entry.failures = entry.level(rule, nowMs: nowMs) + 1
      entry.lastMs = nowMs
      entries[key] = entry
    }
    return nil
  }

  /// Records a successful attempt. Resets the failures of its origin; other failures stay counted.
  mutating func succeeded(name: String, from origin: LoginOrigin, nowMs: Int64) {
    withdraw(name: name, from: origin)
    let key = Key.pair(name: name, origin)
    if entries[key] == nil, entries.count >= entriesMax { makeRoom(nowMs: nowMs) }
    entries[key] = Entry(failures: 0, lastMs: nowMs, successMs: nowMs)
  }

  /// Removes an attempt whose PIN was not checked from the count.
  mutating func withdraw(name: String, from origin: LoginOrigin) {
    for (key, _) in counts(name, origin) {
      guard var entry = entries[key], entry.failures > 0 else { continue }
      entry.failures -= 1
      entries[key] = entry.failures == 0 && entry.successMs == nil ? nil : entry
    }
  }

  /// Whether the name has logged in from this origin within `successMs`.
  func isKnown(name: String, from origin: LoginOrigin, nowMs: Int64) -> Bool {
    entries[.pair(name: name, origin)]?.successMs.map { nowMs - $0 < Self.successMs } ?? false
  }

  /// Returns the entries in which an attempt is counted.
  private func counts(_ name: String, _ origin: LoginOrigin) -> [(Key, Rule)] {
    let pair = (Key.pair(name: name, origin), Self.ofOrigin)
    return switch origin {
    case .device: [pair]
    case .address(let group): [pair, (.address(group), Self.ofAddress), (.name(name), Self.ofName)]
    case .principal: [pair, (.name(name), Self.ofName)]
    }
  }

  /// Returns the limits that can delay an attempt: only those of its own origin.
  private func bounds(_ name: String, _ origin: LoginOrigin, nowMs: Int64) -> [(Key, Rule)] {
    let key = Key.pair(name: name, origin)
    if case .device = origin { return [(key, Self.ofOrigin)] }
    let isUnderAttack = (entries[.name(name)]?.level(Self.ofName, nowMs: nowMs) ?? 0) >= Self.ofName.freeMax
    var bounds = [(key, isUnderAttack ? Self.ofOriginUnderAttack : Self.ofOrigin)]
    if case .address(let group) = origin { bounds.append((.address(group), Self.ofAddress)) }
    return bounds
  }

  private mutating func makeRoom(nowMs: Int64) {
    entries = entries.filter { key, entry in entry.matters(rule(of: key), nowMs: nowMs) }
    guard entries.count > entriesMax - max(1, entriesMax / 4) else { return }
    let oldest = entries.map { ($0.value.lastMs, $0.key) }.sorted { $0.0 < $1.0 }.prefix(max(1, entriesMax / 4))
    for (_, key) in oldest { entries[key] = nil }
  }

  private func rule(of key: Key) -> Rule {
    switch key {
    case .pair: Self.ofOrigin
    case .address: Self.ofAddress
    case .name: Self.ofName
    }
  }
}
