import APNs

extension PushRules {
  /// The key that a request may push with. Throws the refusal of its provider token.
  static func provider(_ facts: PushFacts, limits: SimulatorLimits) throws(Refusal) -> SigningKey {
    let token: ProviderClaims
    let key: SigningKey
    switch facts.provider {
    case .missing: throw Refusal(.missingProviderToken, "authorization is missing")
    case .malformed(let why): throw Refusal(.invalidProviderToken, why)
    case .unknownKey(let unknown):
      try checkConnection(facts, unknown)
      throw Refusal(.invalidProviderToken, "team \(unknown.teamID) has no key \(unknown.keyID)")
    case .wrongSignature(let forged):
      try checkConnection(facts, forged)
      throw Refusal(.invalidProviderToken, "the signature is not that of key \(forged.keyID)")
    case .verified(let verified, let found): (token, key) = (verified, found)
    }
    try checkConnection(facts, token)
    guard key.environment.fits(limits.environment) else {
      throw Refusal(.badEnvironmentKeyIDInToken, "key \(key.keyID) is for \(key.environment.rawValue)")
    }
    let ageMs = facts.nowMs - token.issuedAtSeconds.multipliedOrSaturated(by: 1000)
    guard ageMs >= -limits.clockSkewMs else { throw Refusal(.invalidProviderToken, "iat is in the future") }
    guard ageMs <= ProviderTokenRules.ageSecondsMax * 1000 else {
      throw Refusal(.expiredProviderToken, "the token is \(ageMs / 60_000) minutes old")
    }
    if let last = facts.lastIssue, last.issuedAtSeconds != token.issuedAtSeconds,
      facts.nowMs - last.seenAtMs < limits.tokenRenewalMsMin
    {
      throw Refusal(
        .tooManyProviderTokenUpdates, "the last token is \((facts.nowMs - last.seenAtMs) / 1000) s older",
        retryAfterSeconds: (limits.tokenRenewalMsMin - (facts.nowMs - last.seenAtMs)) / 1000)
    }
    return key
  }

  /// A connection is for one team and one key.
  private static func checkConnection(_ facts: PushFacts, _ token: ProviderClaims) throws(Refusal) {
    guard let first = facts.connectionIssue else { return }
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
    // Far enough from every time, and safe to subtract.
    return overflow || product.magnitude > 1 << 60 ? (self < 0 ? -(1 << 60) : 1 << 60) : product
  }
}
