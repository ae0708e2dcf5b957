package import CampanileAPI
package import CampanileBase
import CampanileCrypto
import CampanileRPC
import CampanileStore
import Synchronization

/// The open sessions of the console, in the database and in memory.
///
/// Lookups are synchronous and thread-safe. The end of a session is visible to every lookup that begins after it.
package final class ConsoleSessions: Sendable {
  private struct State {
    var byID: [String: OpenConsoleSession] = [:]
    var byDigest: [SHA256Digest: OpenConsoleSession] = [:]
  }
  /// The prefix of the bearer that stands for a session inside the process.
  static let bearerPrefix = "ccs_"
  private static let userAgentMax = 256

  let limits: ConsoleLimits
  let audit: AuditLog
  package let links: SignInLinks
  private let keys: KeyRing
  private let repository: ConsoleSessionRepository
  /// Whether other gateways may use the sessions.
  private let isShared: Bool
  /// The beginning of such a bearer. It contains 256 random bits that never leave the process, so that no caller can
  /// present one: the rules for cookies cannot be bypassed.
  private let bearerHead: String
  /// Called after a session has ended, to end its open streams.
  private let onEnd: @Sendable () -> Void
  private let state = Mutex(State())

  init(
    store: Store, keys: KeyRing, audit: AuditLog, limits: ConsoleLimits = ConsoleLimits(),
    changes: AccessChanges? = nil, onEnd: @escaping @Sendable () -> Void = {}
  ) throws(CryptoError) {
    self.limits = limits
    self.keys = keys
    self.audit = audit
    self.onEnd = onEnd
    repository = ConsoleSessionRepository(store: store, changes: changes)
    isShared = store.isShared
    links = SignInLinks(
      limits: limits, nowMs: keys.nowMs,
      table: isShared ? SharedLinkTable(store: store, keys: keys, limits: limits) : nil)
    bearerHead = Self.bearerPrefix + Base64URL.encode(try SecureRandom.bytes(32)) + "."
  }

  package var nowMs: Int64 { keys.nowMs() }
  var count: Int { state.withLock { $0.byID.count } }

  /// Reads every session into memory, after the keys. Sessions of deleted keys are dropped.
  func load() async throws {
    try await repository.forEach { add($0) }
  }

  private func add(_ stored: StoredConsoleSession) {
    let parent = stored.keyID.isEmpty ? nil : keys.entry(id: stored.keyID)
    guard stored.keyID.isEmpty || parent != nil else { return }
    add(session(stored, parent: parent, lodgeToken: nil))
  }

  private func session(_ stored: StoredConsoleSession, parent: Credential?, lodgeToken: String?) -> OpenConsoleSession {
    let share = keys.shares.share(of: stored.principal.name, nowNs: MonotonicClock.nowNs())
    let credential = Credential(
      id: stored.id, principal: stored.principal, scopes: stored.scopes,
      expiresAtMs: min(stored.usedAtMs + limits.idleMs, stored.endsAtMs), services: keys.services, share: share,
      parent: parent)
    return OpenConsoleSession(stored, credential: credential, idleMs: limits.idleMs, lodgeToken: lodgeToken)
  }

  private func add(_ session: OpenConsoleSession) {
    state.withLock {
      $0.byID[session.id] = session
      $0.byDigest[session.stored.digest] = session
    }
  }

  private func remove(_ session: OpenConsoleSession) {
    state.withLock {
      $0.byID[session.id] = nil
      $0.byDigest[session.stored.digest] = nil
    }
  }

  // MARK: signing in and out

  /// Opens a session, and returns it with the value of its cookie, which is not stored.
  ///
  /// - Parameter secret: The value of the cookie; random if it is nil.
  /// - Throws: UNAUTHENTICATED if the credential of the grant has ended. RESOURCE_EXHAUSTED `SESSIONS_EXHAUSTED` if
  ///   there are too many sessions.
  package func open(
    _ grant: ConsoleGrant, address: String, userAgent: String, secret: CallerSecret? = nil
  ) async throws -> (session: OpenConsoleSession, cookie: String) {
    let nowMs = nowMs
    if let fault = grant.parent?.fault(nowMs: keys.nowMs) { throw fault }
    let secret = try secret ?? CallerSecret.random(.session)
    var principal = grant.principal
    principal.scopes = grant.scopes.map(\.description)
    let lodge = try LodgeToken.bytes(grant.lodgeToken).map { try secret.sealed($0) } ?? []
    let stored = StoredConsoleSession(
      id: StoredConsoleSession.idPrefix + Base64URL.encode(try SecureRandom.bytes(12)), digest: secret.digest,
      principal: principal,
      scopes: grant.scopes, method: grant.method, keyID: grant.keyID, lodgeMemberID: grant.lodgeMemberID,
      sealedLodgeSecret: lodge, createdAtMs: nowMs,
      endsAtMs: min(nowMs + limits.lifetimeMs, grant.endsAtMs ?? .max), usedAtMs: nowMs,
      address: address, userAgent: Self.printable(userAgent))
    let replaced = try place(of: stored.principal.name)
    var event = audit.event(.signedIn, subject: stored.id)
    (event.principal, event.address, event.method) = (stored.principal.name, address, stored.method)
    try await repository.insert(stored, replacing: replaced?.id, event)
    if let replaced {
      revoke(replaced)
      remove(replaced)
    }
    let session = session(stored, parent: grant.parent, lodgeToken: grant.lodgeToken.isEmpty ? nil : grant.lodgeToken)
    add(session)
    return (session, secret.text)
  }

  /// Returns the session that a new one of the principal replaces; nil if there is room.
  private func place(of principal: String) throws(RPCError) -> OpenConsoleSession? {
    let (all, own) = state.withLock { ($0.byID.count, $0.byID.values.filter { $0.principalName == principal }) }
    if own.count >= limits.sessionsPerPrincipalMax { return own.min { $0.usedAtMs < $1.usedAtMs } }
    guard all < limits.sessionsMax else {
      throw RPCError(
        .resourceExhausted, "the console has too many sessions; try again later", reason: "SESSIONS_EXHAUSTED",
        retryAfterMs: 60_000)
    }
    return nil
  }

  /// Ends a session: in memory first, so that no call that begins after this one is accepted with it.
  ///
  /// It is forgotten only once the store has deleted it. Otherwise a repetition would find nothing to delete, and a
  /// restart would open the session again.
  ///
  /// - Parameter address: The caller's address outside of handlers.
  package func end(
    _ session: OpenConsoleSession, _ action: AuditEvent.Action, address: String? = nil
  ) async throws {
    revoke(session)
    var event = audit.event(action, subject: session.id)
    if event.principal.isEmpty { event.principal = session.principalName }
    if let address { event.address = address }
    try await repository.delete(session.id, event)
    remove(session)
  }

  private func revoke(_ session: OpenConsoleSession) {
    session.credential.revoke()
    onEnd()
  }

  /// Records a failed sign-in.
  package func signInFailed(_ method: SignInMethod, address: String, reason: String) async {
    var event = audit.event(.signInFailed)
    // The rate of sign-ins is that of the group, too: one caller with many addresses does not displace the log.
    (event.address, event.method) = (AddressGroup.name(of: address), method)
    event.reason = String(reason.prefix(64))
    await audit.record(event)
  }

  // MARK: lookups

  /// Identifies the session of a cookie.
  package struct Presented: Sendable {
    package let session: OpenConsoleSession
    /// The `Authorization` that stands for the session inside the process.
    package let authorization: String
    /// The token of the lodge session; nil if there is none.
    package let lodgeToken: String?
  }

  /// Returns the session of a cookie's value and records its use; nil if there is none or it has ended.
  package func present(_ cookie: String) -> Presented? {
    guard let secret = CallerSecret(cookie, .session), let session = state.withLock({ $0.byDigest[secret.digest] }),
      session.credential.fault(nowMs: keys.nowMs) == nil
    else { return nil }
    session.use(nowMs: nowMs)
    return Presented(
      session: session, authorization: "Bearer \(bearerHead)\(session.id)", lodgeToken: session.lodgeToken(secret))
  }

  /// Returns the credential of the bearer that stands for a session.
  func authenticate(_ presented: String) -> Result<Credential, RPCError> {
    let head = Array(presented.utf8.prefix(bearerHead.utf8.count))
    guard ConstantTime.equal(head, Array(bearerHead.utf8)),
      let session = session(id: String(presented.dropFirst(bearerHead.count)))
    else { return .failure(CredentialFault.invalid) }
    return session.credential.fault(nowMs: keys.nowMs).map { .failure($0) } ?? .success(session.credential)
  }

  /// Returns the session with this id, even if it has just ended.
  package func session(id: String) -> OpenConsoleSession? { state.withLock { $0.byID[id] } }

  /// Returns the open session of an `Authorization` from `present`; nil if there is none.
  package func session(authorization: String?) -> OpenConsoleSession? {
    guard let authorization, authorization.hasPrefix("Bearer ") else { return nil }
    guard case .success(let credential) = authenticate(String(authorization.dropFirst(7))) else { return nil }
    return session(of: credential)
  }

  /// Returns the session of a credential; nil if it is not one of a session.
  func session(of credential: Credential?) -> OpenConsoleSession? { credential.flatMap { session(id: $0.id) } }

  /// Returns the open sessions, newest first: of one principal, or of all.
  func list(of principal: String?) -> [OpenConsoleSession] {
    state.withLock { Array($0.byID.values) }
      .filter { (principal ?? $0.principalName) == $0.principalName && $0.credential.fault(nowMs: keys.nowMs) == nil }
      .sorted { ($0.stored.createdAtMs, $0.id) > ($1.stored.createdAtMs, $1.id) }
  }

  // MARK: grants

  /// Returns the grant of an API key.
  package func grant(apiKey secret: String) throws(RPCError) -> ConsoleGrant {
    let key = try keys.authenticate(secret).get()
    key.markUsed()
    return grant(key, .apiKey)
  }

  /// Returns the grant of a credential that can open sessions: a key, or a session of one. Nil for others.
  func grant(of credential: Credential, _ method: SignInMethod) -> ConsoleGrant? {
    if let session = session(of: credential) {
      guard session.stored.lodgeMemberID.isEmpty else { return nil }
      if let parent = credential.parent { return grant(parent, method) }
      var grant = ConsoleGrant(principal: credential.principal, scopes: credential.scopes, method: method)
      grant.endsAtMs = session.endsAtMs
      return grant
    }
    guard keys.entry(id: credential.id) === credential else { return nil }
    return grant(credential, method)
  }

  private func grant(_ key: Credential, _ method: SignInMethod) -> ConsoleGrant {
    var grant = ConsoleGrant(principal: key.principal, scopes: key.scopes, method: method)
    (grant.keyID, grant.parent) = (key.id, key)
    return grant
  }

  // MARK: changes of other gateways on the database

  /// Applies the start or the end of a session at another gateway. Apply changes of its key first.
  func refresh(_ id: String) async throws {
    let known = session(id: id)
    guard let stored = try await repository.find(id) else {
      guard let known else { return }
      revoke(known)
      return remove(known)
    }
    if known == nil { add(stored) }
  }

  /// Reads all sessions again.
  func refreshAll() async throws {
    // Only sessions from before the query can be missing because they have ended.
    let known = state.withLock { $0.byID }
    let found = Mutex<Set<String>>([])
    try await repository.forEach { stored in
      found.withLock { _ = $0.insert(stored.id) }
      if session(id: stored.id) == nil { add(stored) }
    }
    let ended = found.withLock { found in known.values.filter { !found.contains($0.id) } }
    for session in ended {
      revoke(session)
      remove(session)
    }
  }

  /// Applies the uses of sessions at other gateways, as far as they are stored.
  private func refreshUses() async throws {
    for use in try await repository.uses() { session(id: use.id)?.usedElsewhere(atMs: use.atMs) }
  }

  // MARK: maintenance

  /// Stores the last uses, and deletes ended sessions.
  func maintain() async throws {
    if isShared { try await refreshUses() }
    var (ended, used): ([OpenConsoleSession], [OpenConsoleSession]) = ([], [])
    for session in state.withLock({ Array($0.byID.values) }) {
      if session.credential.fault(nowMs: keys.nowMs) != nil {
        ended.append(session)
      } else if session.takeUse() {
        used.append(session)
      }
    }
    do {
      if !ended.isEmpty {
        try await repository.delete(ended: ended.map { ($0.id, $0.usedAtMs) })
        for session in ended { remove(session) }
      }
      if !used.isEmpty { try await repository.touch(used.map { ($0.id, $0.usedAtMs) }) }
    } catch {
      for session in used { session.restoreUse() }
      throw error
    }
  }

  private static func printable(_ text: String) -> String {
    let visible = text.unicodeScalars.filter { $0.value >= 0x20 && $0.value < 0x7F }
    return String(String.UnicodeScalarView(visible.prefix(userAgentMax)))
  }
}
