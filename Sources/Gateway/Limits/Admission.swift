import CampanileRPC

/// What every call is counted against before it goes anywhere. One for the whole gateway; safe from any thread.
struct Admission: Sendable {
  let settings: LimitSettings
  let addresses: ShareTable

  init(_ settings: LimitSettings) {
    self.settings = settings
    addresses = ShareTable(max: settings.sharesMax) {
      // Of one address many may be calling: only principals have a number of calls under way.
      CallerShare(
        rate: settings.addressRate, anonymous: settings.anonymousRate, calls: CountSetting(.max),
        streams: CountSetting(.max))
    }
  }

  /// The shares of principals, for credentials to hold.
  static func principals(_ settings: LimitSettings) -> ShareTable {
    ShareTable(max: settings.sharesMax) {
      CallerShare(
        rate: settings.principalRate, anonymous: nil, calls: settings.principalCallsMax,
        streams: settings.principalStreamsMax)
    }
  }

  func visitor(_ address: String, nowNs: Int64) -> Visitor {
    Visitor(address: address, share: addresses.share(of: AddressGroup.name(of: address), nowNs: nowNs))
  }

  /// Counts a call against its address, before it is known who makes it. Throws RESOURCE_EXHAUSTED `RATE_LIMITED`.
  @inline(__always)
  func countCall(_ address: CallerShare, nowNs: Int64) throws(RPCError) {
    try Self.take(address.rate, "from this address", nowNs)
  }

  /// Counts a call against its principal, or against its address where there is none, and its method. Throws as the other; what
  /// was counted before the refusal stays counted.
  @inline(__always)
  func countCall(
    of caller: CallerShare?, from address: CallerShare, _ route: Route?, nowNs: Int64
  ) throws(RPCError) {
    if let caller {
      try Self.take(caller.rate, "of this caller", nowNs)
    } else {
      try Self.take(address.anonymous, "without a credential from this address", nowNs)
    }
    if let route { try Self.take(route.rate, "to this method", nowNs) }
  }

  @inline(__always)
  private static func take(
    _ bucket: SharedBucket?, _ what: @autoclosure () -> String, _ nowNs: Int64
  ) throws(RPCError) {
    guard let bucket else { return }
    let waitNs = bucket.take(nowNs: nowNs)
    if waitNs > 0 { throw LimitFault.rate(what(), bucket.limit, waitNs: waitNs) }
  }
}

/// A call's place among those under way: taken before it is forwarded, given back once.
struct Place {
  let share: CallerShare?
  let pool: BackendPool
  let isStream: Bool

  /// Throws RESOURCE_EXHAUSTED when the caller or the backend has too much under way. Nothing is taken then.
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
