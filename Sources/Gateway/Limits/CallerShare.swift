import CampanileRPC
import Synchronization

/// The usage and the limits of one principal or address. Thread-safe.
final class CallerShare: Sendable {
  let rate: SharedBucket
  /// Rate limit for unauthenticated calls from this address; nil for principals.
  let anonymous: SharedBucket?
  /// Rate limit for rejected credentials that cost a signature verification; nil for principals.
  let refusals: SharedBucket?
  let calls: SharedGauge
  let streams: SharedGauge
  let pace = RefusalPace()

  init(rate: CurrentRate, anonymous: CurrentRate?, calls: CurrentCount, streams: CurrentCount) {
    self.rate = SharedBucket(rate)
    self.anonymous = anonymous.map { SharedBucket($0) }
    refusals = anonymous.map { SharedBucket($0) }
    self.calls = SharedGauge(calls)
    self.streams = SharedGauge(streams)
  }

  convenience init(rate: RateLimit?, anonymous: RateLimit? = nil, callsMax: Int = .max, streamsMax: Int = .max) {
    self.init(
      rate: CurrentRate(rate), anonymous: anonymous.map { CurrentRate($0) }, calls: CurrentCount(callsMax),
      streams: CurrentCount(streamsMax))
  }

  /// Reports whether the share is indistinguishable from a new one.
  func isUnused(nowNs: Int64) -> Bool {
    rate.isFull(nowNs: nowNs) && anonymous?.isFull(nowNs: nowNs) != false
      && refusals?.isFull(nowNs: nowNs) != false && calls.count == 0 && streams.count == 0
  }
}

extension CallerShare: CallQuota {
  func status(nowNs: Int64) -> QuotaStatus? { rate.status(nowNs: nowNs) }
}

/// A bounded table of the shares of principals or of addresses. Thread-safe.
///
/// An unused share that no caller holds is removed to make room. If the table stays full, newcomers use one common
/// share.
final class ShareTable: Sendable {
  private struct State {
    var shares: [String: CallerShare] = [:]
    var purgedAtNs = Int64.min
  }

  private let countMax: Int
  private let make: @Sendable () -> CallerShare
  private let overflow: CallerShare
  private let state = Mutex(State())
  /// The minimum interval between two purges of the table.
  static let purgeIntervalNs: Int64 = 1_000_000_000

  init(max countMax: Int, make: @escaping @Sendable () -> CallerShare) {
    self.countMax = countMax
    self.make = make
    overflow = make()
  }

  var count: Int { state.withLock { $0.shares.count } }

  /// Returns the shares with the most open calls and streams; of equal ones, those with the fewest remaining calls.
  func busiest(_ countMax: Int, nowNs: Int64) -> [ShareUsage] {
    let known = state.withLock { Array($0.shares) }
    let usages = known.map { name, share in
      ShareUsage(
        name: name, openCalls: share.calls.count, openStreams: share.streams.count,
        remaining: share.status(nowNs: nowNs)?.remaining)
    }
    let order: (ShareUsage, ShareUsage) -> Bool = { one, other in
      let (a, b) = (one.openCalls + one.openStreams, other.openCalls + other.openStreams)
      if a != b { return a > b }
      if one.remaining != other.remaining { return (one.remaining ?? .max) < (other.remaining ?? .max) }
      return one.name < other.name
    }
    return Array(usages.sorted(by: order).prefix(countMax))
  }

  func share(of name: String, nowNs: Int64) -> CallerShare {
    state.withLock { state in
      if let known = state.shares[name] { return known }
      if state.shares.count >= countMax, state.purgedAtNs == .min || nowNs - state.purgedAtNs >= Self.purgeIntervalNs {
        state.purgedAtNs = nowNs
        Self.purge(&state.shares, nowNs)
      }
      guard state.shares.count < countMax else { return overflow }
      let made = make()
      state.shares[name] = made
      return made
    }
  }

  private static func purge(_ shares: inout [String: CallerShare], _ nowNs: Int64) {
    for name in Array(shares.keys) {
      guard var share = shares.removeValue(forKey: name) else { continue }
      // A caller that holds the share still counts in it.
      if !isKnownUniquelyReferenced(&share) || !share.isUnused(nowNs: nowNs) { shares[name] = share }
    }
  }
}
