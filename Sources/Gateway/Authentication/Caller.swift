import CampanileRPC

/// Who makes a call.
enum Caller {
  case anonymous
  case known(Credential)
  /// A program of the operator, by the internal token: it may do everything, also speak for others.
  case trusted

  var credential: Credential? { if case .known(let credential) = self { credential } else { nil } }
}

/// Finds out who makes a call, from its metadata or its connection.
struct CallerAuthenticator: Sendable {
  let keys: KeyRing
  /// `nil` where no tokens are believed.
  var tokens: TokenAuthority?

  /// Throws UNAUTHENTICATED for a credential that is wrong, also where none would be needed; RESOURCE_EXHAUSTED when too many
  /// wrong tokens came from the address.
  @inline(__always)
  func caller(of call: ServerCall, from address: CallerShare, nowNs: Int64) throws(RPCError) -> Caller {
    if !call.metadata.isEmpty, let presented = try Self.bearer(call.metadata) {
      let credential = try authenticate(presented, from: address, nowNs: nowNs).get()
      credential.markUsed()
      return .known(credential)
    }
    if let kept = call.connectionCredential {
      // It may have ended since the connection was opened.
      guard let credential = kept as? Credential else { throw CredentialFault.invalid }
      if let fault = credential.fault(nowMs: keys.nowMs) { throw fault }
      credential.markUsed()
      return .known(credential)
    }
    return call.isTrusted ? .trusted : .anonymous
  }

  /// What an API key or a token stands for, or why it is refused.
  ///
  /// - Parameter address: bounds how many wrong tokens are looked at, each of which costs a check of its signature. A key costs
  ///   next to nothing, and none can be guessed.
  func authenticate(
    _ presented: String, from address: CallerShare? = nil, nowNs: Int64 = 0
  ) -> Result<Credential, RPCError> {
    guard let tokens, JSONWebToken.isPlausible(presented) else { return keys.authenticate(presented) }
    if let known = tokens.checked(presented) { return known }
    if let refusals = address?.refusals {
      let waitNs = refusals.waitNs(nowNs: nowNs)
      if waitNs > 0 {
        return .failure(
          LimitFault.rate("with wrong tokens from this address", refusals.limit, waitNs: waitNs))
      }
    }
    let result = tokens.check(presented)
    if case .failure = result { _ = address?.refusals?.take(nowNs: nowNs) }
    return result
  }

  /// The token of `authorization: Bearer …` (RFC 6750 section 2.1; the scheme in any case, RFC 9110 section 11.1).
  static func bearer(_ metadata: Metadata) throws(RPCError) -> String? {
    let values = metadata.values("authorization")
    guard let value = values.first else { return nil }
    guard values.count == 1, value.utf8.count <= JSONWebToken.sizeBytesMax + 16 else { throw CredentialFault.invalid }
    let parts = value.split(separator: " ", omittingEmptySubsequences: true)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw CredentialFault.invalid }
    return String(parts[1])
  }
}

/// A session of Attendance's, which members who have no key of their own log in for. The service that made it judges it.
enum PresentedSession {
  static let metadataKey = "attendance-session"
  static let serviceName = "attendance"

  /// Whether a call brings one. Throws UNAUTHENTICATED for what does not have the form of one: `cas_` and 43 characters.
  static func isPresented(_ metadata: Metadata) throws(RPCError) -> Bool {
    guard !metadata.isEmpty else { return false }
    let tokens = metadata.values(metadataKey)
    guard let token = tokens.first else { return false }
    guard tokens.count == 1, token.utf8.count == 47, token.hasPrefix("cas_") else { throw CredentialFault.invalid }
    return true
  }
}

/// Judges the token of `rpc.hello`: the suite's internal token, an API key, or a token of the issuer's.
struct GatewayHelloAuthenticator: HelloAuthenticator {
  let authenticator: CallerAuthenticator
  let internalToken: InternalTokenAuthenticator

  func authenticate(token: String) -> HelloDecision {
    if !token.hasPrefix(ApiKeySecret.prefix), case .trusted = internalToken.authenticate(token: token) {
      return .trusted
    }
    switch authenticator.authenticate(token) {
    case .success(let credential):
      credential.markUsed()
      return .credential(credential.principal, credential)
    case .failure(let error): return .refused(error)
    }
  }

  /// A certificate with the URI `campanile:user/ID` or `campanile:service/ID` stands for that principal, with every service and
  /// without `admin`.
  func authenticate(certificateURIs: [String]) -> HelloDecision? {
    let names = certificateURIs.filter { $0.hasPrefix(Self.certificatePrefix) }
    guard names.count == 1, let principal = Principal(String(names[0].dropFirst(Self.certificatePrefix.count))) else {
      return nil
    }
    let ring = authenticator.keys
    let share = ring.shares.share(of: principal.name, nowNs: MonotonicClock.nowNs())
    let credential = Credential(
      id: "c_\(principal.name)", principal: principal, scopes: [], expiresAtMs: nil, services: ring.services,
      share: share)
    return .credential(principal, credential)
  }

  private static let certificatePrefix = "campanile:"
}
