import CampanileBase
import CampanileRPC

/// Counts every call against the rate limits before it is served or forwarded. One for the whole gateway; thread-safe.
struct Admission: Sendable {
  let limits: CurrentLimits
  let addresses: ShareTable

  init(_ limits: CurrentLimits) {
    self.limits = limits
    addresses = ShareTable(max: limits.sharesMax) {
      // Many principals may share an address, so only principals have limits of concurrent calls.
      CallerShare(
        rate: limits.addressRate, anonymous: limits.anonymousRate, calls: CurrentCount(.max),
        streams: CurrentCount(.max))
    }
  }

  /// Creates the shares of principals, which credentials reference.
  static func principals(_ limits: CurrentLimits) -> ShareTable {
    ShareTable(max: limits.sharesMax) {
      CallerShare(
        rate: limits.principalRate, anonymous: nil, calls: limits.principalCallsMax,
        streams: limits.principalStreamsMax)
    }
  }

  func callerCache(_ address: String, nowNs: Int64) -> ConnectionCredentialCache {
    ConnectionCredentialCache(
      address: address, share: addresses.share(of: AddressGroup.name(of: address), nowNs: nowNs))
  }

  /// Counts a call against its address, before the caller is authenticated.
  ///
  /// - Parameter isCounted: Whether to take a token; if not, this only throws if there is none.
  /// - Throws: RESOURCE_EXHAUSTED `RATE_LIMITED`.
  @inline(__always)
  func countCall(_ address: CallerShare, nowNs: Int64, isCounted: Bool = true) throws(RPCError) {
    try Self.take(address.rate, "from this address", nowNs, isCounted)
  }

  /// Counts a call against its principal, or as an anonymous call against its address. Tokens taken before a refusal
  /// are not returned. Parameters and errors are those of `countCall(_:nowNs:isCounted:)`.
  @inline(__always)
  func countCall(
    of caller: CallerShare?, from address: CallerShare, nowNs: Int64, isCounted: Bool = true
  ) throws(RPCError) {
    if let caller {
      try Self.take(caller.rate, "of this caller", nowNs, isCounted)
    } else {
      try Self.take(address.anonymous, "without a credential from this address", nowNs, isCounted)
    }
  }

  /// Counts a call against its method. Parameters and errors are those of `countCall(_:nowNs:isCounted:)`.
  @inline(__always)
  func countCall(to route: Route?, nowNs: Int64, isCounted: Bool = true) throws(RPCError) {
    if let route { try Self.take(route.rate, "to this method", nowNs, isCounted) }
  }

  @inline(__always)
  private static func take(
    _ bucket: SharedBucket?, _ what: @autoclosure () -> String, _ nowNs: Int64, _ isCounted: Bool
  ) throws(RPCError) {
    guard let bucket else { return }
    let waitNs = isCounted ? bucket.take(nowNs: nowNs) : bucket.waitNs(nowNs: nowNs)
    if waitNs > 0 { throw LimitFault.rate(what(), bucket.limit, waitNs: waitNs) }
  }
}

/// A permit for one concurrent call, acquired before forwarding and returned exactly once.
struct CallPermit {
  let share: CallerShare?
  let pool: BackendPool
  let isStream: Bool

  /// Throws RESOURCE_EXHAUSTED if the caller or the backend has reached a limit, UNAVAILABLE if the breaker is open.
  /// Holds no permit then.
  @inline(__always)
  init(_ share: CallerShare?, _ pool: BackendPool, isStream: Bool, isBulk: Bool, isLoopLate: Bool) throws(RPCError) {
    if let share, !(isStream ? share.streams : share.calls).enter() {
      throw isStream ? LimitFault.streams(share.streams.countMax) : LimitFault.calls(share.calls.countMax)
    }
    if let refusal = pool.admission.enter(isStream: isStream, isBulk: isBulk, isLoopLate: isLoopLate) {
      if let share { (isStream ? share.streams : share.calls).leave() }
      throw LimitFault.backend(refusal, service: pool.name)
    }
    self.share = share
    self.pool = pool
    self.isStream = isStream
    do throws(RPCError) { try pool.checkBreaker() } catch {
      giveBack()
      throw error
    }
  }

  @inline(__always)
  func giveBack() {
    if let share { if isStream { share.streams.leave() } else { share.calls.leave() } }
    pool.admission.leave(isStream: isStream)
  }
}
