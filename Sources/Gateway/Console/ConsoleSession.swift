package import CampanileAPI
import CampanileCrypto
package import CampanileRPC
import Synchronization

/// The identity with which a session of the console is opened.
package struct ConsoleGrant: Sendable {
  package var principal: Principal
  var scopes: [Scope]
  package var method: SignInMethod
  /// The API key whose rights the session has; empty if there is none.
  var keyID = ""
  /// The credential with which the session ends; nil if there is none.
  var parent: Credential?
  package var lodgeMemberID = ""
  /// The token of the member's session at Attendance; empty if there is none.
  package var lodgeToken = ""
  /// The time at which the identity ends; nil if it does not.
  var endsAtMs: Int64?

  init(principal: Principal, scopes: [Scope], method: SignInMethod) {
    self.principal = principal
    self.scopes = scopes
    self.method = method
  }

  /// Creates the grant of a member of the lodge, who may only call Attendance, where the member's session decides.
  package init?(lodgeMember id: String, token: String) {
    guard let principal = Principal("user/lodge.\(id)") else { return nil }
    let scopes = ["attendance:read", "attendance:write"].compactMap { Scope($0) }
    self.init(principal: principal, scopes: scopes, method: .lodge)
    lodgeMemberID = id
    lodgeToken = token
  }
}

/// A session of the console as the store has it. Times are milliseconds since 1970.
struct StoredConsoleSession: Sendable, Hashable {
  static let idPrefix = "s_"

  var id: String
  var digest: SHA256Digest
  var principal: Principal
  var scopes: [Scope]
  var method: SignInMethod
  var keyID: String
  var lodgeMemberID: String
  /// The lodge session's secret, encrypted with that of the cookie; empty if there is none.
  var sealedLodgeSecret: [UInt8]
  var createdAtMs: Int64
  var endsAtMs: Int64
  var usedAtMs: Int64
  var address: String
  var userAgent: String
}

/// An open session of the console.
package final class OpenConsoleSession: Sendable {
  let stored: StoredConsoleSession
  let credential: Credential
  private let idleMs: Int64
  private let usedAt: Atomic<Int64>
  private let isUseUnstored = Atomic<Bool>(false)
  private let lodge: Mutex<String?>

  init(_ stored: StoredConsoleSession, credential: Credential, idleMs: Int64, lodgeToken: String?) {
    self.stored = stored
    self.credential = credential
    self.idleMs = idleMs
    usedAt = Atomic(stored.usedAtMs)
    lodge = Mutex(lodgeToken)
  }

  package var id: String { stored.id }
  package var principalName: String { stored.principal.name }
  var usedAtMs: Int64 { usedAt.load(ordering: .relaxed) }
  /// The time at which the session ends unless it is used.
  package var expiresAtMs: Int64 { min(usedAtMs + idleMs, stored.endsAtMs) }
  package var endsAtMs: Int64 { stored.endsAtMs }

  /// Records a use, which postpones the end. At most once a second, because pages make many calls.
  func use(nowMs: Int64) {
    guard nowMs - usedAtMs >= 1_000 else { return }
    usedAt.store(nowMs, ordering: .relaxed)
    isUseUnstored.store(true, ordering: .relaxed)
    credential.expire(atMs: expiresAtMs)
    credential.parent?.markUsed()
  }

  /// Applies a later use at another gateway, which postpones the end.
  func usedElsewhere(atMs: Int64) {
    guard atMs > usedAtMs else { return }
    usedAt.store(atMs, ordering: .relaxed)
    credential.expire(atMs: expiresAtMs)
  }

  /// Returns whether the session was used since the last call of this function.
  func takeUse() -> Bool { isUseUnstored.exchange(false, ordering: .relaxed) }
  func restoreUse() { isUseUnstored.store(true, ordering: .relaxed) }

  /// The token of the lodge session; nil if there is none, or before the cookie was presented after a restart.
  package var knownLodgeToken: String? { lodge.withLock { $0 } }

  /// Returns the token of the lodge session; nil if there is none. After a restart it is decrypted with the cookie.
  func lodgeToken(_ secret: CallerSecret) -> String? {
    guard !stored.sealedLodgeSecret.isEmpty else { return nil }
    return lodge.withLock { known in
      if let known { return known }
      guard let bytes = try? secret.sealed(stored.sealedLodgeSecret) else { return nil }
      known = LodgeToken.text(bytes)
      return known
    }
  }
}
