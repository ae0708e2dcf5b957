import APNs

extension PushRules {
  /// Returns the key of a request's provider token, or throws the refusal of the token ("Establishing a token-based
  /// connection to APNs").
  static func provider(_ context: PushContext, limits: SimulatorLimits) throws(Refusal) -> SigningKey {
    let token: ProviderClaims
    let key: SigningKey
    switch context.provider {
    case .missing: throw Refusal(.missingProviderToken, "authorization is missing")
    case .malformed(let why): throw Refusal(.invalidProviderToken, why)
    case .unknownKey(let unknown):
      try checkConnection(context, unknown)
      throw Refusal(.invalidProviderToken, "team \(unknown.teamID) has no key \(unknown.keyID)")
    case .wrongSignature(let forged):
      try checkConnection(context, forged)
      throw Refusal(.invalidProviderToken, "the signature is not that of key \(forged.keyID)")
    case .verified(let verified, let found): (token, key) = (verified, found)
    }
    try checkConnection(context, token)
    guard key.environment.fits(limits.environment) else {
      throw Refusal(.badEnvironmentKeyIDInToken, "key \(key.keyID) is for \(key.environment.rawValue)")
    }
    let ageMs = context.nowMs - token.issuedAtSeconds.multipliedOrSaturated(by: 1000)
    guard ageMs >= -limits.clockSkewMs else { throw Refusal(.invalidProviderToken, "iat is in the future") }
    guard ageMs <= ProviderTokenRules.ageSecondsMax * 1000 else {
      throw Refusal(.expiredProviderToken, "the token is \(ageMs / 60_000) minutes old")
    }
    if let last = context.lastIssue, last.issuedAtSeconds != token.issuedAtSeconds,
      context.nowMs - last.seenAtMs < limits.tokenRenewalMsMin
    {
      throw Refusal(
        .tooManyProviderTokenUpdates, "the last renewal was \((context.nowMs - last.seenAtMs) / 1000) s ago",
        retryAfterSeconds: (limits.tokenRenewalMsMin - (context.nowMs - last.seenAtMs)) / 1000)
    }
    return key
  }

  /// Checks that a connection is used with one team and one key only ("Establishing a token-based connection to APNs").
  private static func checkConnection(_ context: PushContext, _ token: ProviderClaims) throws(Refusal) {
    guard let first = context.connectionIssue else { return }
    guard first.teamID == token.teamID else {
      throw Refusal(.invalidProviderToken, "the connection is for team \(first.teamID)")
    }
    guard first.keyID == token.keyID else {
      throw Refusal(.unrelatedKeyIDInToken, "the connection is for key \(first.keyID)")
    }
  }
}

extension Int64 {
  fileprivate func multipliedOrSaturated(by factor: Int64) -> Int64 {
    let (product, overflow) = multipliedReportingOverflow(by: factor)
    // Far outside all valid times, and safe to subtract.
    return overflow || product.magnitude > 1 << 60 ? (self < 0 ? -(1 << 60) : 1 << 60) : product
  }
}
