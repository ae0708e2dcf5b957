import CampanileCrypto
import CampanileRPC
import Foundation
import Logging
import Synchronization

/// Turns bearer tokens of an issuer into credentials. Safe from any thread; nothing waits for a file here but `reload`.
final class TokenAuthority: Sendable {
  private struct State {
    var keys = TokenKeySet()
    var stamp: FileStamp?
    /// Tokens that were checked, by their digest.
    var checked: [SHA256Digest: Credential] = [:]
  }

  private let policy: TokenPolicy
  private let ring: KeyRing
  private let logger: Logger
  private let state = Mutex(State())

  /// - Parameter ring: whose clock, services and shares are used.
  init(_ policy: TokenPolicy, ring: KeyRing, logger: Logger) {
    self.policy = policy
    self.ring = ring
    self.logger = logger
  }

  var checkedCount: Int { state.withLock { $0.checked.count } }

  /// What a token that was checked before is worth now; `nil` for one that must be checked.
  func checked(_ text: String) -> Result<Credential, RPCError>? {
    guard text.utf8.count <= JSONWebToken.sizeBytesMax, let digest = try? SHA256.digest(text) else {
      return .failure(CredentialFault.invalid)
    }
    // One whose key is gone may have been signed by the key that took its name.
    guard let known = state.withLock({ $0.checked[digest] }), !known.isRevoked else { return nil }
    return known.fault(nowMs: ring.nowMs).map { .failure($0) } ?? .success(known)
  }

  /// The credential of a token, or why it is refused: `CREDENTIAL_INVALID` or `CREDENTIAL_EXPIRED`.
  func check(_ text: String) -> Result<Credential, RPCError> {
    let keys = state.withLock { $0.keys }
    do throws(TokenFault) {
      guard let digest = try? SHA256.digest(text) else { throw .malformed }
      let token = try JSONWebToken(text)
      let signer = try keys.verify(token)
      let grant = try policy.grant(token.claims, services: ring.services, nowMs: ring.nowMs())
      return .success(keep(credential(grant, signer, digest), digest))
    } catch {
      logger.debug("a token was refused", metadata: ["reason": "\(error)"])
      return .failure(error == .expired ? CredentialFault.expired : CredentialFault.invalid)
    }
  }

  private func credential(_ grant: TokenPolicy.Grant, _ signer: TokenSigner, _ digest: SHA256Digest) -> Credential {
    let share = ring.shares.share(of: grant.principal.name, nowNs: MonotonicClock.nowNs())
    return Credential(
      id: "j_" + String(digest.hexadecimal.prefix(12)), principal: grant.principal, scopes: grant.scopes,
      expiresAtMs: grant.expiresAtMs, revocation: signer.revocation, services: ring.services, share: share)
  }

  /// Remembers a credential; of two that were made at the same time the first one stays.
  private func keep(_ credential: Credential, _ digest: SHA256Digest) -> Credential {
    let nowMs = ring.nowMs()
    return state.withLock { state in
      if let known = state.checked[digest], !known.isRevoked { return known }
      if state.checked.count >= policy.checkedTokensMax {
        state.checked = state.checked.filter { !$0.value.isRevoked && !$0.value.isExpired(nowMs: nowMs) }
        // Any quarter: what is asked for again is checked again.
        let surplus = state.checked.count - policy.checkedTokensMax * 3 / 4
        if surplus > 0 { for digest in Array(state.checked.keys.prefix(surplus)) { state.checked[digest] = nil } }
      }
      state.checked[digest] = credential
      return credential
    }
  }

  // MARK: the key set

  /// Reads the key set if its file has changed. Answers whether it has; tokens of keys that are gone are then refused.
  ///
  /// Throws when the file cannot be read or is no key set: the keys stay as they are.
  func reload() throws -> Bool {
    let stamp = try FileStamp(policy.keySetFile)
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

/// What tells that a file has changed.
struct FileStamp: Sendable, Hashable {
  private var inode: UInt64
  private var sizeBytes: UInt64
  private var modified: Date

  init(_ path: String) throws(CryptoError) {
    guard let facts = try? FileManager.default.attributesOfItem(atPath: path),
      let inode = facts[.systemFileNumber] as? UInt64, let size = facts[.size] as? UInt64,
      let modified = facts[.modificationDate] as? Date
    else { throw CryptoError(.keyUnreadable, "\(path): is no file that can be read") }
    (self.inode, sizeBytes, self.modified) = (inode, size, modified)
  }
}
