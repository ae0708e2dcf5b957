import CampanileRPC
import Synchronization

/// What one principal, or one address, has used of what it may use. Safe from any thread.
final class CallerShare: Sendable {
  let rate: SharedBucket
  /// What an address may try without a credential. Of principals there is none.
  let anonymous: SharedBucket?
  /// What an address may present that is refused after a signature was checked.
  let refusals: SharedBucket?
  let calls: SharedGauge
  let streams: SharedGauge
  let pace = RefusalPace()

  init(rate: RateSetting, anonymous: RateSetting?, calls: CountSetting, streams: CountSetting) {
    self.rate = SharedBucket(rate)
    self.anonymous = anonymous.map { SharedBucket($0) }
    refusals = anonymous.map { SharedBucket($0) }
    self.calls = SharedGauge(calls)
    self.streams = SharedGauge(streams)
  }

  convenience init(rate: RateLimit?, anonymous: RateLimit? = nil, callsMax: Int = .max, streamsMax: Int = .max) {
    self.init(
      rate: RateSetting(rate), anonymous: anonymous.map { RateSetting($0) }, calls: CountSetting(callsMax),
      streams: CountSetting(streamsMax))
  }

  /// Whether a new share would be the same.
  func isUnused(nowNs: Int64) -> Bool {
    rate.isFull(nowNs: nowNs) && anonymous?.isFull(nowNs: nowNs) != false
      && refusals?.isFull(nowNs: nowNs) != false && calls.count == 0 && streams.count == 0
  }
}

extension CallerShare: CallQuota {
  func facts(nowNs: Int64) -> QuotaFacts? { rate.facts(nowNs: nowNs) }
}

/// The shares of principals or of addresses, a bounded number of them. Safe from any thread.
///
/// A share that nobody holds and nothing was taken from lately is as good as none and makes room for others. When there is no
/// room, newcomers have one share together.
final class ShareTable: Sendable {
  private struct State {
    var shares: [String: CallerShare] = [:]
    var sweptAtNs = Int64.min
  }

  private let countMax: Int
  private let make: @Sendable () -> CallerShare
  private let overflow: CallerShare
  private let state = Mutex(State())
  /// The table is not swept more often, however many newcomers there are.
  static let sweepNs: Int64 = 1_000_000_000

  init(max countMax: Int, make: @escaping @Sendable () -> CallerShare) {
    self.countMax = countMax
    self.make = make
    overflow = make()
  }

  var count: Int { state.withLock { $0.shares.count } }

  /// Those with the most under way, and of these with the least left.
  func busiest(_ countMax: Int, nowNs: Int64) -> [ShareFacts] {
    let known = state.withLock { Array($0.shares) }
    let facts = known.map { name, share in
      ShareFacts(
        name: name, openCalls: share.calls.count, openStreams: share.streams.count,
        remaining: share.facts(nowNs: nowNs)?.remaining)
    }
    let order: (ShareFacts, ShareFacts) -> Bool = { one, other in
      let (a, b) = (one.openCalls + one.openStreams, other.openCalls + other.openStreams)
      if a != b { return a > b }
      if one.remaining != other.remaining { return (one.remaining ?? .max) < (other.remaining ?? .max) }
      return one.name < other.name
    }
    return Array(facts.sorted(by: order).prefix(countMax))
  }

  func share(of name: String, nowNs: Int64) -> CallerShare {
    state.withLock { state in
      if let known = state.shares[name] { return known }
      if state.shares.count >= countMax, state.sweptAtNs == .min || nowNs - state.sweptAtNs >= Self.sweepNs {
        state.sweptAtNs = nowNs
        Self.sweep(&state.shares, nowNs)
      }
      guard state.shares.count < countMax else { return overflow }
      let made = make()
      state.shares[name] = made
      return made
    }
  }

  private static func sweep(_ shares: inout [String: CallerShare], _ nowNs: Int64) {
    for name in Array(shares.keys) {
      guard var share = shares.removeValue(forKey: name) else { continue }
      // Whoever holds it counts in it.
      if !isKnownUniquelyReferenced(&share) || !share.isUnused(nowNs: nowNs) { shares[name] = share }
    }
  }
}

/// What an address is counted as: itself, or of IPv6 its /64, which one customer has (RFC 6177).
enum AddressGroup {
  static func name(of host: String) -> String {
    guard host.contains(":") else { return host }
    let address = host.prefix { $0 != "%" }
    let halves = address.firstRange(of: "::")
    let front = (halves.map { address[..<$0.lowerBound] } ?? address[...]).split(separator: ":")
    let back = halves.map { address[$0.upperBound...].split(separator: ":").count } ?? 0
    var groups = front.prefix(4).map(String.init)
    // The zeros that `::` stands for, as far as they lie in the first half.
    if halves != nil { while groups.count < 4, groups.count < 8 - back { groups.append("0") } }
    let missing = 4 - groups.count
    if missing > 0, let halves {
      groups += address[halves.upperBound...].split(separator: ":").prefix(missing).map(String.init)
    }
    return groups.joined(separator: ":") + "::/64"
  }
}
