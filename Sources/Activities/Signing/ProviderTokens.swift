import CampanileBase
import CampanileCrypto
import CampanileRPC
import CampanileService
import CampanileStore
import Synchronization

/// The provider tokens, one for each key, shared by all senders.
///
/// Tokens are issued one at a time and stored before use, so that a restarted process continues with them. Processes
/// on one database use the same tokens, because APNs accepts a new token of a key every 20 minutes only.
final class ProviderTokens: Sendable {
  private let store: Store
  private let keys: SigningKeys
  private let limits: ProviderTokenState.Limits
  private let wallMs: @Sendable () -> Int64
  private let steadyMs: @Sendable () -> Int64
  private let states: Mutex<[SigningKeyID: ProviderTokenState]>
  private let issuer: Issuer

  /// A lock that admits one issuing task at a time.
  private actor Issuer {
    private var isBusy = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func enter() async {
      if !isBusy {
        isBusy = true
        return
      }
      await withCheckedContinuation { waiting.append($0) }
    }

    func leave() {
      if waiting.isEmpty { isBusy = false } else { waiting.removeFirst().resume() }
    }
  }

  /// Reads the stored tokens. `steadyMs` is a monotonic clock.
  init(
    store: Store, keys: SigningKeys, limits: ProviderTokenState.Limits = .init(),
    wallMs: @escaping @Sendable () -> Int64, steadyMs: @escaping @Sendable () -> Int64
  ) async throws {
    self.store = store
    self.keys = keys
    self.limits = limits
    self.wallMs = wallMs
    self.steadyMs = steadyMs
    issuer = Issuer()
    let stored = try await store.readSingle { try Self.stored($0) }
    states = Mutex(Dictionary(stored.map { ($0, ProviderTokenState($1, limits: limits)) }) { $1 })
  }

  private static let columns = "token, issued_at_ms"
  private static let oneSQL = "SELECT \(columns) FROM provider_tokens WHERE team_id = $1 AND key_id = $2"

  private static func stored(
    _ transaction: ReadTransaction
  ) throws -> [(SigningKeyID, ProviderTokenState.Issued)] {
    try transaction.query("SELECT \(columns), team_id, key_id FROM provider_tokens") { row in
      (SigningKeyID(teamID: try row.text(2), keyID: try row.text(3)), try issued(row))
    }
  }

  private static func issued(_ row: borrowing SQLRow) throws -> ProviderTokenState.Issued {
    ProviderTokenState.Issued(token: try row.text(0), issuedAtMs: try row.integer(1))
  }

  /// Reads the tokens that other processes have issued.
  func refresh() async throws {
    guard store.isShared else { return }
    for (id, issued) in try await store.readSingle({ try Self.stored($0) }) { adopt(issued, of: id) }
  }

  /// Uses a token of another process from now on.
  private func adopt(_ issued: ProviderTokenState.Issued, of id: SigningKeyID) {
    states.withLock { states in
      guard states[id]?.issued?.token != issued.token else { return }
      states[id] = ProviderTokenState(issued, limits: limits)
    }
  }

  /// Returns the token of a key, renewing it if it is old. A token is never used before its time is stored.
  ///
  /// - Throws: NOT_FOUND, reason `SIGNING_KEY_NOT_FOUND`, for a key that is not in use; the store's errors.
  func token(of id: SigningKeyID) async throws -> ProviderTokenState.Issued {
    if let issued = fresh(id) { return issued }
    return try await issue(id) { state in state?.current(wallMs: self.wallMs(), steadyMs: self.steadyMs()) == nil }
  }

  /// Returns the time at which a key's token was issued; nil if there is no token.
  func issuedAtMs(_ id: SigningKeyID) -> Int64? { states.withLock { $0[id]?.issued?.issuedAtMs } }

  /// Returns the time until renewal in milliseconds.
  func renewsInMs(_ id: SigningKeyID) -> Int64 {
    states.withLock { $0[id]?.renewsInMs(wallMs: wallMs(), steadyMs: steadyMs()) ?? 0 }
  }

  /// Handles APNs' report that a token has expired: issues a new one if the last is at least 20 minutes old.
  ///
  /// - Returns: The wall-clock time of the next attempt.
  func rejected(_ token: String, of id: SigningKeyID) async throws -> Int64 {
    // Another process may have renewed it, on a machine whose clock is ahead.
    if store.isShared, verdict(token, id) != .useCurrent { try await refresh() }
    switch verdict(token, id) {
    case .useCurrent: return wallMs()
    case .wait(let ms): return wallMs() + ms
    case .issue:
      _ = try await issue(id) { state in
        guard var state else { return true }
        return state.rejected(token, wallMs: self.wallMs(), steadyMs: self.steadyMs()) == .issue
      }
      return wallMs()
    }
  }

  private func verdict(_ token: String, _ id: SigningKeyID) -> ProviderTokenState.Rejection {
    states.withLock { states in
      states[id]?.rejected(token, wallMs: wallMs(), steadyMs: steadyMs()) ?? .issue
    }
  }

  private func fresh(_ id: SigningKeyID) -> ProviderTokenState.Issued? {
    guard keys.entry(id) != nil else { return nil }
    return states.withLock { states in
      guard let state = states[id], state.current(wallMs: wallMs(), steadyMs: steadyMs()) != nil else { return nil }
      return state.issued
    }
  }

  /// Signs a token, stores it, and only then returns it. Checks `isNeeded` again under the lock, because another task
  /// may have issued a token in the meantime.
  private func issue(
    _ id: SigningKeyID, isNeeded: @escaping @Sendable (ProviderTokenState?) -> Bool
  ) async throws -> ProviderTokenState.Issued {
    await issuer.enter()
    do {
      let issued = try await issueAlone(id, isNeeded: isNeeded)
      await issuer.leave()
      return issued
    } catch {
      await issuer.leave()
      throw error
    }
  }

  private func issueAlone(
    _ id: SigningKeyID, isNeeded: @escaping @Sendable (ProviderTokenState?) -> Bool
  ) async throws -> ProviderTokenState.Issued {
    guard let entry = keys.entry(id) else {
      throw RPCError(
        .notFound, "the signing key \(id.keyID) is not in use", reason: "SIGNING_KEY_NOT_FOUND",
        errorMetadata: ["keyId": id.keyID])
    }
    let known = states.withLock { $0[id] }
    if !isNeeded(known), let issued = known?.issued { return issued }
    let limits = limits
    let (wall, steady) = (wallMs(), steadyMs())
    // Whole seconds, as in the token.
    let token = try ProviderToken.make(
      key: entry.key, keyID: id.keyID, teamID: id.teamID, issuedAtSeconds: wall / 1_000)
    let isShared = store.isShared
    let foreign = try await store.write { transaction -> ProviderTokenState.Issued? in
      let key: [SQLValue] = [.text(id.teamID), .text(id.keyID)]
      // Another process may have issued one since. The transaction excludes the others until its token is stored.
      if isShared, let stored = try transaction.queryOne(Self.oneSQL, key, Self.issued),
        stored.token != known?.issued?.token, !isNeeded(ProviderTokenState(stored, limits: limits))
      {
        return stored
      }
      try transaction.execute(
        """
        INSERT INTO provider_tokens (team_id, key_id, token, issued_at_ms) VALUES ($1, $2, $3, $4)
        ON CONFLICT (team_id, key_id) DO UPDATE SET token = excluded.token, issued_at_ms = excluded.issued_at_ms
        """, key + [.text(token), .integer(wall)])
      return nil
    }
    if let foreign {
      adopt(foreign, of: id)
      return foreign
    }
    return states.withLock { states in
      var state = ProviderTokenState(limits: limits)
      state.issue(token, wallMs: wall, steadyMs: steady)
      states[id] = state
      return ProviderTokenState.Issued(token: token, issuedAtMs: wall, steadyMs: steady)
    }
  }
}

extension ProviderTokenState.Limits {
  /// Returns the limits for the tokens in a store. Its processes may run on machines whose clocks differ.
  func shared(by store: Store) -> Self {
    var limits = self
    if store.isShared { limits.skewMaxMs = SortableIDGenerator.skewMaxMs }
    return limits
  }
}
