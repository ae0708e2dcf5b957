/// The origin of a login attempt. Failures are counted separately for each origin.
enum LoginOrigin: Sendable, Hashable {
  /// A device with a valid token, by the token's hash.
  case device([UInt8])
  /// The name of an `AddressGroup`.
  case address(String)
  /// A caller without a known address: a program behind a gateway that does not forward it.
  case principal(String)
}

/// Counts failed logins and returns the wait before the next attempt. A state machine without a clock or a store.
///
/// `AttemptTable` stores the entries, so that the processes on one database count together, and a restart forgets none.
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

  enum Key: Sendable, Hashable {
    case pair(name: String, LoginOrigin)
    case address(String)
    case name(String)
  }

  struct Entry: Sendable, Hashable {
    var failures = 0
    var lastMs: Int64 = 0
    var successMs: Int64?

    fileprivate func level(_ rule: Rule, nowMs: Int64) -> Int {
      max(0, failures - Int(clamping: max(0, nowMs - lastMs) / rule.forgetMs))
    }

    fileprivate func waitMs(_ rule: Rule, nowMs: Int64) -> Int64 {
      // A clock that was set back must not delay anyone.
      guard nowMs >= lastMs else { return 0 }
      return max(0, lastMs + waitMs(rule) - nowMs)
    }

    /// Returns the wait after the last attempt.
    private func waitMs(_ rule: Rule) -> Int64 {
      guard failures >= rule.freeMax else { return 0 }
      return min(waitMinMs << Int64(min(failures - rule.freeMax, 16)), waitMaxMs)
    }

    fileprivate func endMs(_ rule: Rule) -> Int64 {
      let forgottenMs = lastMs + max(Int64(failures) * rule.forgetMs, waitMs(rule))
      return max(forgottenMs, successMs.map { $0 + LoginThrottle.successMs } ?? 0)
    }
  }

  /// The entries that the next attempts may concern.
  private(set) var entries: [Key: Entry]

  init(_ entries: [Key: Entry] = [:]) { self.entries = entries }

  /// Returns the time from which an entry no longer matters; nil if there is no such entry.
  func endMs(of key: Key) -> Int64? { entries[key].map { $0.endMs(rule(of: key)) } }

  /// Returns the milliseconds for which an attempt must wait; nil if it may proceed.
  func waitMs(name: String, from origin: LoginOrigin, nowMs: Int64) -> Int64? {
    let waits = bounds(name, origin, nowMs: nowMs).map { key, rule in entries[key]?.waitMs(rule, nowMs: nowMs) ?? 0 }
    return waits.max().flatMap { $0 > 0 ? $0 : nil }
  }

  /// Counts an attempt.
  ///
  /// - Returns: Nil if the attempt may proceed. Otherwise the milliseconds to wait; the attempt is then not counted.
  mutating func begin(name: String, from origin: LoginOrigin, nowMs: Int64) -> Int64? {
    if let waitMs = waitMs(name: name, from: origin, nowMs: nowMs) { return waitMs }
    for (key, rule) in counts(name, origin) {
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
    entries[.pair(name: name, origin)] = Entry(failures: 0, lastMs: nowMs, successMs: nowMs)
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

  private func rule(of key: Key) -> Rule {
    switch key {
    case .pair: Self.ofOrigin
    case .address: Self.ofAddress
    case .name: Self.ofName
    }
  }
}
