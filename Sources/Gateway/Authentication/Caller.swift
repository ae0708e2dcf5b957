import CampanileBase
import CampanileCrypto
import CampanileRPC

/// The identity of a call's caller.
package enum Caller: Sendable {
  case anonymous
  case known(Credential)
  /// One of the operator's programs, authenticated by the internal token. It acts as the operator or as the caller in
  /// its metadata.
  case trusted(DelegatedCaller?)

  /// The principal of a caller with a credential.
  package var principalName: String? { credential?.principal.name }

  var credential: Credential? { if case .known(let credential) = self { credential } else { nil } }
}

/// Authenticates callers by the metadata of the call or by the connection.
struct CallerAuthenticator: Sendable {
  let keys: KeyRing
  /// `nil` if tokens are not accepted.
  var tokens: TokenAuthority?
  /// `nil` if there is no console.
  var sessions: ConsoleSessions?

  /// Returns the caller of a call.
  ///
  /// - Throws: UNAUTHENTICATED if the credential is wrong, even for methods that need none. RESOURCE_EXHAUSTED if too
  ///   many wrong tokens came from the address. INVALID_ARGUMENT if a trusted peer names a malformed caller.
  @inline(__always)
  func caller(of call: ServerCall, from address: CallerShare, nowNs: Int64) throws(RPCError) -> Caller {
    if !call.metadata.isEmpty, let presented = try Self.bearer(call.metadata) {
      let credential = try authenticate(presented, from: address, nowNs: nowNs).get()
      credential.markUsed()
      return .known(credential)
    }
    if let kept = call.connectionCredential {
      // The credential may have ended after the connection was opened.
      guard let credential = kept as? Credential else { throw CredentialFault.invalid }
      if let fault = credential.fault(nowMs: keys.nowMs) { throw fault }
      credential.markUsed()
      return .known(credential)
    }
    guard call.isTrusted else { return .anonymous }
    return .trusted(call.metadata.isEmpty ? nil : try DelegatedCaller(call.metadata, services: keys.services))
  }

  /// Authenticates an API key, a token or a session of the console.
  ///
  /// - Parameter address: Limits how many wrong tokens are checked, because each costs a signature verification. API
  ///   keys are not limited: a lookup is cheap, and a key cannot be guessed.
  func authenticate(
    _ presented: String, from address: CallerShare? = nil, nowNs: Int64 = 0
  ) -> Result<Credential, RPCError> {
    if presented.hasPrefix(ConsoleSessions.bearerPrefix) {
      return sessions?.authenticate(presented) ?? .failure(CredentialFault.invalid)
    }
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

  /// Returns the token of `authorization: Bearer …` (RFC 6750 section 2.1; the scheme is case-insensitive, RFC 9110
  /// section 11.1).
  static func bearer(_ metadata: Metadata) throws(RPCError) -> String? {
    let values = metadata.values("authorization")
    guard let value = values.first else { return nil }
    guard values.count == 1, value.utf8.count <= JSONWebToken.sizeBytesMax + 16 else { throw CredentialFault.invalid }
    let parts = value.split(separator: " ", omittingEmptySubsequences: true)
    guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw CredentialFault.invalid }
    return String(parts[1])
  }
}

/// The caller on whose behalf one of the operator's programs calls. Its scopes count like those of a credential.
package final class DelegatedCaller: Sendable {
  let rights: AccessRights
  /// As `Credential.metadataMembers`.
  let metadataMembers: [UInt8]

  /// Reads the caller from the metadata of a trusted peer; nil if the metadata names none.
  ///
  /// - Throws: As `Principal.init(trusted:)`; INVALID_ARGUMENT `SCOPES_INVALID` for a scope with an unknown right.
  init?(_ metadata: Metadata, services: [String]) throws(RPCError) {
    guard let principal = try Principal(trusted: metadata) else { return nil }
    let scopes = principal.scopes.compactMap { Scope($0) }
    guard scopes.count == principal.scopes.count else {
      var error = RPCError.invalidField(
        Principal.scopesMetadataKey, "must be admin, SERVICE, or SERVICE: and read, write, publish or operate",
        reason: "SCOPES_INVALID")
      error.processed = false
      throw error
    }
    rights = AccessRights(scopes, services: services)
    metadataMembers = PrincipalMetadata.members(
      principal: principal.name, scopes: principal.scopes.joined(separator: " "), device: principal.deviceID)
  }
}

/// The metadata that identifies a caller in addition to its credential.
enum CallerMetadata {
  /// The keys of all kinds of sessions. Add new kinds here: idempotency keys are scoped to them.
  static let keys = [PresentedSession.metadataKey]

  /// Returns a digest of the metadata that identifies the caller; empty if there is none.
  static func digest(_ metadata: Metadata) throws(CryptoError) -> String {
    var text: [UInt8] = []
    for key in keys {
      for value in metadata.values(key) { text += Array("\(key) \(value.utf8.count) \(value)\n".utf8) }
    }
    return text.isEmpty ? "" : try SHA256.digest(text).hexadecimal
  }
}

/// A session of Attendance, for members who log in without an API key. The Attendance service validates it.
package enum PresentedSession {
  package static let metadataKey = "attendance-session"
  package static let serviceName = "attendance"

  /// Reports whether a call carries a session token.
  ///
  /// - Throws: UNAUTHENTICATED if the token is malformed. A token is `cas_` and 43 characters.
  static func isPresented(_ metadata: Metadata) throws(RPCError) -> Bool {
    guard !metadata.isEmpty else { return false }
    let tokens = metadata.values(metadataKey)
    guard let token = tokens.first else { return false }
    guard tokens.count == 1, token.utf8.count == 47, token.hasPrefix("cas_") else { throw CredentialFault.invalid }
    return true
  }
}

/// Authenticates the token of `rpc.hello`: the suite's internal token, an API key, or a token of the configured issuer.
struct GatewayHelloAuthenticator: HelloAuthenticator {
  let authenticator: CallerAuthenticator
  let internalToken: InternalTokenAuthenticator
  /// Provides the per-address shares, which limit the wrong tokens from each address.
  let admission: Admission

  func authenticate(token: String) -> HelloDecision { authenticate(token: token, from: "") }

  func authenticate(token: String, from host: String) -> HelloDecision {
    if !token.hasPrefix(CallerSecret.Kind.key.prefix), case .trusted = internalToken.authenticate(token: token) {
      return .trusted
    }
    switch credential(token, from: host) {
    case .success(let credential):
      credential.markUsed()
      return .credential(credential.principal, credential)
    case .failure(let error): return .refused(error)
    }
  }

  /// Authenticates a key or a token, and counts wrong tokens against the address. A token costs a signature
  /// verification.
  private func credential(_ token: String, from host: String) -> Result<Credential, RPCError> {
    let nowNs = MonotonicClock.nowNs()
    let address = host.isEmpty ? nil : admission.callerCache(host, nowNs: nowNs).share
    return authenticator.authenticate(token, from: address, nowNs: nowNs)
  }

  /// Authenticates a certificate with exactly one URI `campanile:user/ID` or `campanile:service/ID` as that principal.
  ///
  /// The credential has no scopes: it may read and write every service, but has neither `operate` nor `admin`.
  func authenticate(certificateURIs: [String], expiresAtMs: Int64) -> HelloDecision? {
    let names = certificateURIs.filter { $0.hasPrefix(Self.certificatePrefix) }
    guard names.count == 1, let principal = Principal(String(names[0].dropFirst(Self.certificatePrefix.count))) else {
      return nil
    }
    let ring = authenticator.keys
    let share = ring.shares.share(of: principal.name, nowNs: MonotonicClock.nowNs())
    let credential = Credential(
      id: "c_\(principal.name)", principal: principal, scopes: [], expiresAtMs: expiresAtMs, services: ring.services,
      share: share)
    return .credential(principal, credential)
  }

  private static let certificatePrefix = "campanile:"

  func challenge(nonce: String) -> HelloChallenge? { internalToken.challenge(nonce: nonce) }

  func authenticate(metadata: Metadata, remoteHost: String) -> HelloDecision? {
    do throws(RPCError) {
      guard let presented = try CallerAuthenticator.bearer(metadata) else { return nil }
      let credential = try credential(presented, from: remoteHost).get()
      return .credential(credential.principal, credential)
    } catch { return .refused(error) }
  }
}
