import CampanileAPI
import CampanileCrypto
import CampanileRPC
import CampanileStore

/// The unused one-use links in the database, for gateways that share it.
struct SharedLinkTable: Sendable {
  let store: Store
  let keys: KeyRing
  let limits: ConsoleLimits

  private static let columns = "digest, principal, scopes, device_id, method, key_id, ends_at_ms, created_at_ms"
  private static let purgeSQL = "DELETE FROM sign_in_links WHERE created_at_ms <= $1"
  private static let ownSQL = "SELECT digest FROM sign_in_links WHERE principal = $1 ORDER BY created_at_ms, digest"
  private static let dropSQL = "DELETE FROM sign_in_links WHERE digest = $1"

  /// Stores a link. Replaces the principal's oldest one if it has too many.
  func insert(_ digest: SHA256Digest, _ grant: ConsoleGrant, nowMs: Int64) async throws {
    let limits = limits
    try await store.write { transaction in
      try transaction.execute(Self.purgeSQL, [.integer(nowMs - limits.linkLifetimeMs)])
      let own = try transaction.query(Self.ownSQL, [.text(grant.principal.name)]) { try $0.bytes(0) }
      if own.count >= limits.linksPerPrincipalMax, let oldest = own.first {
        try transaction.execute(Self.dropSQL, [.blob(oldest)])
      }
      let count = try transaction.queryOne("SELECT count(*) FROM sign_in_links") { try $0.integer(0) } ?? 0
      guard count < limits.linksMax else { throw SignInLinks.exhausted(limits) }
      try transaction.execute(
        "INSERT INTO sign_in_links (\(Self.columns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        [
          .blob(digest.bytes), .text(grant.principal.name),
          .text(grant.scopes.map(\.description).joined(separator: " ")), .text(grant.principal.deviceID),
          .integer(Int64(grant.method.rawValue)), .text(grant.keyID), .integer(grant.endsAtMs), .integer(nowMs),
        ])
    }
  }

  /// Deletes a link and returns its grant; nil if there is no such link, or its key is gone.
  func take(_ digest: SHA256Digest, nowMs: Int64) async throws -> ConsoleGrant? {
    let limits = limits
    let found = try await store.write { transaction -> ConsoleGrant? in
      let grant = try transaction.queryOne(
        "SELECT \(Self.columns) FROM sign_in_links WHERE digest = $1 AND created_at_ms > $2",
        [.blob(digest.bytes), .integer(nowMs - limits.linkLifetimeMs)], Self.grant)
      try transaction.execute(Self.dropSQL, [.blob(digest.bytes)])
      return grant
    }
    guard var grant = found, !grant.keyID.isEmpty else { return found }
    guard let key = keys.entry(id: grant.keyID) else { return nil }
    grant.parent = key
    return grant
  }

  private static func grant(_ row: borrowing SQLRow) throws -> ConsoleGrant {
    let scopes = try row.text(2).split(separator: " ").map(String.init)
    guard var principal = Principal(try row.text(1), scopes: scopes) else {
      throw StoreError(.corrupt, "a link in the database cannot be read", path: nil)
    }
    principal.deviceID = try row.text(3)
    var grant = ConsoleGrant(
      principal: principal,
      // As for keys: a link without scopes would be unrestricted.
      scopes: scopes.compactMap { Scope($0) ?? Scope("unknown") },
      method: SignInMethod(rawValue: Int32(truncatingIfNeeded: try row.integer(4))))
    grant.keyID = try row.text(5)
    grant.endsAtMs = try row.integerIfPresent(6)
    return grant
  }
}
