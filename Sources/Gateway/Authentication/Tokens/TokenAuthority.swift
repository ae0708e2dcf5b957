import CampanileBase
import CampanileCrypto
import CampanileRPC
import Foundation
import Logging
import Synchronization

/// Creates credentials from an issuer's bearer tokens. Thread-safe; only `reload` reads a file.
final class TokenAuthority: Sendable {
  private struct State {
    var keys = TokenKeySet()
    var stamp: FileStamp?
    /// Verified tokens, by their digest.
    var checked: [SHA256Digest: Credential] = [:]
  }

  private let policy: TokenPolicy
  private let ring: KeyRing
  private let logger: Logger
  private let state = Mutex(State())

  /// - Parameter ring: Provides the clock, the services and the shares.
  init(_ policy: TokenPolicy, ring: KeyRing, logger: Logger) {
    self.policy = policy
    self.ring = ring
    self.logger = logger
  }

  var checkedCount: Int { state.withLock { $0.checked.count } }

  /// Returns the current result for a token that was verified before; `nil` if the token must be verified.
  func checked(_ text: String) -> Result<Credential, RPCError>? {
    guard text.utf8.count <= JSONWebToken.sizeBytesMax, let digest = try? SHA256.digest(text) else {
      return .failure(CredentialFault.invalid)
    }
    // Verify the token again if its key was removed: a new key with the same `kid` may have signed it.
    guard let known = state.withLock({ $0.checked[digest] }), !known.isRevoked else { return nil }
    return known.fault(nowMs: ring.nowMs).map { .failure($0) } ?? .success(known)
  }

  /// Verifies a token and returns its credential, or `CREDENTIAL_INVALID` or `CREDENTIAL_EXPIRED`.
  func check(_ text: String) -> Result<Credential, RPCError> {
    let keys = state.withLock { $0.keys }
    do throws(TokenFault) {
      guard let digest = try? SHA256.digest(text) else { throw .malformed }
      let token = try JSONWebToken(text)
      let signer = try keys.verify(token)
      let grant = try policy.grant(token, services: ring.services, nowMs: ring.nowMs())
      return .success(keep(credential(grant, signer, digest), digest))
    } catch {
      logger.debug("rejected a token", metadata: ["reason": "\(error)"])
      return .failure(error == .expired ? CredentialFault.expired : CredentialFault.invalid)
    }
  }

  /// Returns the identity in an ID token (OpenID Connect Core section 3.1.3.7), with the rights of the access token of
  /// the same response.
  ///
  /// An access token that the gateway would not accept, such as an opaque one, grants nothing more: the rights are then
  /// those of the ID token.
  func identify(_ response: IssuerTokens, clientID: String, nonce: String) throws(TokenFault) -> TokenPolicy.Grant {
    let token = try JSONWebToken(response.idToken)
    _ = try state.withLock { $0.keys }.verify(token)
    var idPolicy = policy
    (idPolicy.audiences, idPolicy.type) = ([clientID], nil)
    var grant = try idPolicy.grant(token, services: ring.services, nowMs: ring.nowMs())
    let isOnlyAudience = token.claims.aud?.all.count == 1
    guard token.claims.nonce == nonce, token.claims.azp.map({ $0 == clientID }) ?? isOnlyAudience else {
      throw .nonceWrong
    }
    if let text = response.accessToken, JSONWebToken.isPlausible(text), case .success(let access) = check(text),
      access.principal.name == grant.principal.name
    {
      grant.scopes = access.scopes
    }
    return grant
  }

  private func credential(_ grant: TokenPolicy.Grant, _ signer: TokenSigner, _ digest: SHA256Digest) -> Credential {
    let share = ring.shares.share(of: grant.principal.name, nowNs: MonotonicClock.nowNs())
    return Credential(
      id: "j_" + String(digest.hexadecimal.prefix(12)), principal: grant.principal, scopes: grant.scopes,
      expiresAtMs: grant.expiresAtMs, revocation: signer.revocation, services: ring.services, share: share)
  }

  /// Caches a credential and returns it. If another thread cached the token first, returns that credential.
  private func keep(_ credential: Credential, _ digest: SHA256Digest) -> Credential {
    let nowMs = ring.nowMs()
    return state.withLock { state in
      if let known = state.checked[digest], !known.isRevoked { return known }
      if state.checked.count >= policy.checkedTokensMax {
        state.checked = state.checked.filter { !$0.value.isRevoked && !$0.value.isExpired(nowMs: nowMs) }
        // Evict any quarter: tokens that are still in use are verified again.
        let surplus = state.checked.count - policy.checkedTokensMax * 3 / 4
        if surplus > 0 { for digest in Array(state.checked.keys.prefix(surplus)) { state.checked[digest] = nil } }
      }
      state.checked[digest] = credential
      return credential
    }
  }

  // MARK: Key set

  /// Reads the key set if its file has changed, and revokes the credentials of removed keys.
  ///
  /// - Returns: Whether the file has changed.
  /// - Throws: If the file is unreadable or not a key set. The current keys stay in use.
  func reload() throws -> Bool {
    guard let stamp = FileStamp(path: policy.keySetFile) else {
      throw CryptoError(.keyUnreadable, "\(policy.keySetFile): is not a readable file")
    }
    guard state.withLock({ $0.stamp != stamp }) else { return false }
    guard let file = FileHandle(forReadingAtPath: policy.keySetFile) else {
      throw CryptoError(.keyUnreadable, "\(policy.keySetFile): cannot be read")
    }
    let bytes = try file.read(upToCount: TokenKeySet.sizeBytesMax + 1) ?? Data()
    try? file.close()
    let keys = try TokenKeySet(Array(bytes), source: policy.keySetFile)
    state.withLock { state in
      state.keys = keys.replacing(state.keys)
      state.stamp = stamp
      state.checked = state.checked.filter { !$0.value.isRevoked }
    }
    return true
  }
}
