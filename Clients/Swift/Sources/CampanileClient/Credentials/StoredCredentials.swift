public import CampanileBase

/// The credential of a store, renewed before it expires or after it was refused.
///
/// Each call reads the store, so that a renewal or a logout in another process takes effect at once. One task of all
/// processes renews at a time; the others use its result. A failed renewal changes nothing in the store: the old
/// credential is used as long as it is valid, and the next call tries again. A cancelled call does not cancel its
/// renewal.
public struct StoredCredentials: CredentialSource {
  /// Renews a credential at its issuer. An `RPCError` is the error of the call; other errors become UNAVAILABLE
  /// `CREDENTIAL_UNAVAILABLE`.
  public typealias Renewal = @Sendable (Credential) async throws -> Credential

  private let store: any CredentialStore
  private let renewBeforeMs: Int64
  private let environment: ClientEnvironment
  private let renewal: Renewal?

  /// The maximum time to wait for a renewal in another process.
  static let waitMsMax: Int64 = 15_000
  static let pollMs: Int64 = 50

  /// - Parameters:
  ///   - renewBeforeMs: The time before the expiry at which calls renew the credential.
  ///   - renewal: Renews a credential; `nil` if the user must log in again.
  public init(
    _ store: any CredentialStore, renewBeforeMs: Int64 = 60_000, environment: ClientEnvironment = .system,
    renewal: Renewal? = nil
  ) {
    self.store = store
    self.renewBeforeMs = renewBeforeMs
    self.environment = environment
    self.renewal = renewal
  }

  public func credential() async throws(RPCError) -> Credential? {
    guard let current = try store.read() else { return nil }
    guard renewal != nil, let expiresAtMs = current.expiresAtMs, expiresAtMs - environment.wallMs() <= renewBeforeMs
    else { return current }
    do throws(RPCError) {
      return try await renewed(current)
    } catch {
      if expiresAtMs > environment.wallMs() { return current }
      throw error
    }
  }

  public func replacement(for refused: Credential) async throws(RPCError) -> Credential? {
    let current = try store.read()
    // Another process may have renewed the credential, or the user may have logged out.
    guard current == refused else { return current }
    guard renewal != nil else { return nil }
    return try await renewed(refused)
  }

  /// Returns the successor of a credential; `nil` if the user has logged out.
  private func renewed(_ stale: Credential) async throws(RPCError) -> Credential? {
    guard let permit = try await permit(stale) else { return try store.read() }
    guard try store.read() == stale, let renewal else { return try store.read() }
    let store = store
    // A task of its own: after a cancelled call, the issuer would know a renewal that the store does not.
    let task = Task { () async throws -> Credential? in
      defer { withExtendedLifetime(permit) {} }
      return try Self.replace(stale, by: try await renewal(stale), in: store)
    }
    do {
      return try await task.value
    } catch {
      throw error as? RPCError ?? FileCredentialStore.unavailable("the credential cannot be renewed: \(error)")
    }
  }

  /// Stores a renewed credential, and returns the stored one. A logout or a login during the renewal prevails.
  private static func replace(
    _ stale: Credential, by fresh: Credential, in store: any CredentialStore
  ) throws(RPCError) -> Credential? {
    var stored: Credential?
    try store.update { current in
      stored = current == stale ? fresh : current
      return stored
    }
    return stored
  }

  /// Waits for the right to renew. Returns `nil` once another task has replaced the credential.
  private func permit(_ stale: Credential) async throws(RPCError) -> (any RenewalPermit)? {
    let endMs = environment.nowMs() + Self.waitMsMax
    while true {
      if let permit = try store.renewalPermit() { return permit }
      guard try store.read() == stale else { return nil }
      guard environment.nowMs() < endMs else {
        throw FileCredentialStore.unavailable("another process has been renewing the credential for too long")
      }
      do { try await environment.sleepMs(Self.pollMs) } catch {
        throw RPCError(.cancelled, "the caller cancelled the call", reason: "CANCELLED", processed: false)
      }
    }
  }
}
