package import CampanileBase
import CampanileCrypto
import CampanileRPC
import Synchronization

/// The unused one-use links. In memory only, so that a restart ends them, unless several gateways share the database.
package final class SignInLinks: Sendable {
  private struct Link: Sendable {
    let grant: ConsoleGrant
    let createdAtMs: Int64
    let number: Int
  }
  private struct State {
    var links: [SHA256Digest: Link] = [:]
    var count = 0
  }

  private let limits: ConsoleLimits
  private let nowMs: @Sendable () -> Int64
  /// Nil if the links are in memory.
  private let table: SharedLinkTable?
  private let state = Mutex(State())

  init(limits: ConsoleLimits, nowMs: @escaping @Sendable () -> Int64, table: SharedLinkTable? = nil) {
    self.limits = limits
    self.nowMs = nowMs
    self.table = table
  }

  /// Creates a link, and returns its token and the time at which it ends.
  ///
  /// - Throws: RESOURCE_EXHAUSTED `LINKS_EXHAUSTED` if all principals together have too many.
  func make(_ grant: ConsoleGrant) async throws -> (token: String, expiresAtMs: Int64) {
    guard let table else { return try create(grant) }
    let (secret, now) = (try CallerSecret.random(.link), nowMs())
    try await AccessServiceImplementation.mapping { try await table.insert(secret.digest, grant, nowMs: now) }
    return (secret.text, now + limits.linkLifetimeMs)
  }

  /// Returns the grant of a link, which cannot be used again.
  ///
  /// - Throws: UNAUTHENTICATED `LINK_INVALID` for an unknown, used or expired link alike.
  package func use(_ token: String) async throws(RPCError) -> ConsoleGrant {
    guard let table else { return try take(token) }
    guard let secret = CallerSecret(token, .link) else { throw Self.invalid }
    let found: ConsoleGrant?
    do {
      found = try await AccessServiceImplementation.mapping { try await table.take(secret.digest, nowMs: nowMs()) }
    } catch { throw error as? RPCError ?? RPCError(.internalError, "the link cannot be read") }
    guard let found else { throw Self.invalid }
    return found
  }

  /// Creates a link in memory.
  func create(_ grant: ConsoleGrant) throws -> (token: String, expiresAtMs: Int64) {
    let secret = try CallerSecret.random(.link)
    let now = nowMs()
    try state.withLock { state throws(RPCError) in
      state.links = state.links.filter { $0.value.createdAtMs + limits.linkLifetimeMs > now }
      let own = state.links.filter { $0.value.grant.principal.name == grant.principal.name }
      if own.count >= limits.linksPerPrincipalMax, let oldest = own.min(by: { $0.value.number < $1.value.number }) {
        state.links[oldest.key] = nil
      }
      guard state.links.count < limits.linksMax else { throw Self.exhausted(limits) }
      state.count += 1
      state.links[secret.digest] = Link(grant: grant, createdAtMs: now, number: state.count)
    }
    return (secret.text, now + limits.linkLifetimeMs)
  }

  /// Returns the grant of a link in memory, which cannot be used again.
  func take(_ token: String) throws(RPCError) -> ConsoleGrant {
    let now = nowMs()
    guard let secret = CallerSecret(token, .link),
      let link = state.withLock({ $0.links.removeValue(forKey: secret.digest) }),
      now < link.createdAtMs + limits.linkLifetimeMs
    else { throw Self.invalid }
    return link.grant
  }

  static func exhausted(_ limits: ConsoleLimits) -> RPCError {
    RPCError(
      .resourceExhausted, "there are too many unused links", reason: "LINKS_EXHAUSTED",
      retryAfterMs: limits.linkLifetimeMs)
  }

  private static let invalid = RPCError(
    .unauthenticated, "the link is not valid: it was used, or is older than a minute; open a new one",
    reason: "LINK_INVALID", processed: false)
}
