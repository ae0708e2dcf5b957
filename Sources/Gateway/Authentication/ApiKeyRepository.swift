import CampanileBase
import CampanileCrypto
import CampanileRPC
import CampanileStore

/// The API keys stored in the database.
struct ApiKeyRepository: Sendable {
  let store: Store
  /// Informs the other gateways on the database; nil if there are none.
  var changes: AccessChanges?

  private static let columns =
    "id, digest, principal, scopes, description, created_at_ms, expires_at_ms, revoked_at_ms, last_used_at_ms, "
    + "lifetime_ms, device_id"

  /// The position of a page: after this key.
  struct Cursor: Sendable, Hashable {
    var createdAtMs: Int64
    var id: String
  }

  /// Calls `body` with every key, in no particular order.
  func forEach(_ body: @Sendable (StoredApiKey) -> Void) async throws {
    try await store.readSingle { transaction in
      try transaction.forEach("SELECT \(Self.columns) FROM api_keys") { row in
        body(try Self.key(row))
        return true
      }
    }
  }

  func find(_ id: String) async throws -> StoredApiKey? {
    try await store.readSingle { try Self.find(id, in: $0) }
  }

  /// Stores a new key.
  ///
  /// - Throws: RESOURCE_EXHAUSTED `KEY_LIMIT` if the database already holds `keysMax` keys; for a repeated request
  ///   `IdempotentKeyRequest.Repeated`.
  func insert(
    _ key: StoredApiKey, keysMax: Int = ApiKeyLimits.keysMax, _ request: IdempotentKeyRequest? = nil
  ) async throws {
    try await store.write { [changes] transaction in
      try request?.checkIsNew(in: transaction)
      try Self.insert(key, keysMax: keysMax, in: transaction)
      try changes?.add(key.id, in: transaction)
      try request?.store(key, replaced: nil, in: transaction)
    }
  }

  /// Stores a new key that replaces another one, which then expires at `endsAtMs` unless it expires earlier.
  ///
  /// - Returns: The replaced key; `nil` if there is none.
  /// - Throws: FAILED_PRECONDITION `KEY_ENDED` if the replaced key is expired or revoked; otherwise as `insert`.
  func replace(
    _ id: String, with key: StoredApiKey, endsAtMs: Int64, nowMs: Int64, keysMax: Int = ApiKeyLimits.keysMax,
    _ request: IdempotentKeyRequest? = nil
  ) async throws -> StoredApiKey? {
    try await store.write { [changes] transaction in
      try request?.checkIsNew(in: transaction)
      guard let old = try Self.find(id, in: transaction) else { return nil }
      guard old.revokedAtMs == nil, old.expiresAtMs.map({ $0 > nowMs }) != false else {
        throw RPCError(
          .failedPrecondition, "key \(id) has ended; create a new one", reason: "KEY_ENDED", errorMetadata: ["id": id]
        )
      }
      try Self.insert(key, keysMax: keysMax, in: transaction)
      try transaction.execute(
        "UPDATE api_keys SET expires_at_ms = $2 WHERE id = $1 AND (expires_at_ms IS NULL OR expires_at_ms > $2)",
        [.text(id), .integer(endsAtMs)])
      for changed in [key.id, id] { try changes?.add(changed, in: transaction) }
      let replaced = try Self.find(id, in: transaction)
      try request?.store(key, replaced: replaced, in: transaction)
      return replaced
    }
  }

  private static func insert(_ key: StoredApiKey, keysMax: Int, in transaction: WriteTransaction) throws {
    let count = try transaction.queryOne("SELECT count(*) FROM api_keys") { try $0.integer(0) } ?? 0
    guard count < keysMax else {
      throw RPCError(
        .resourceExhausted, "there are \(count) keys, which is the limit; revoked ones are deleted after 90 days",
        reason: "KEY_LIMIT")
    }
    try transaction.execute(
      "INSERT INTO api_keys (\(columns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
      [
        .text(key.id), .blob(key.digest.bytes), .text(key.principal.name),
        .text(key.scopes.map(\.description).joined(separator: " ")), .text(key.description),
        .integer(key.createdAtMs), .integer(key.expiresAtMs), .integer(key.revokedAtMs), .integer(key.lastUsedAtMs),
        .integer(key.lifetimeMs), .text(key.principal.deviceID),
      ])
  }

  /// Returns up to `count` keys after `cursor`, newest first.
  func list(after cursor: Cursor?, count: Int, includingRevoked: Bool) async throws -> [StoredApiKey] {
    let filter = includingRevoked ? "" : " AND revoked_at_ms IS NULL"
    let sql =
      "SELECT \(Self.columns) FROM api_keys WHERE (created_at_ms, id) < ($1, $2)\(filter)"
      + " ORDER BY created_at_ms DESC, id DESC LIMIT $3"
    return try await store.readSingle { transaction in
      try transaction.query(
        sql, [.integer(cursor?.createdAtMs ?? .max), .text(cursor?.id ?? ""), .int(count)], Self.key)
    }
  }

  /// Revokes a key and returns it; `nil` if there is none. A key that is already revoked keeps its time of revocation.
  func revoke(_ id: String, nowMs: Int64) async throws -> StoredApiKey? {
    try await store.write { [changes] transaction in
      try changes?.add(id, in: transaction)
      try transaction.execute(
        "UPDATE api_keys SET revoked_at_ms = $2 WHERE id = $1 AND revoked_at_ms IS NULL", [.text(id), .integer(nowMs)])
      return try Self.find(id, in: transaction)
    }
  }

  /// Stores `nowMs` as the time at which the keys were last used.
  func touch(_ ids: [String], nowMs: Int64) async throws {
    try await store.write { transaction in
      for id in ids {
        try transaction.execute("UPDATE api_keys SET last_used_at_ms = $2 WHERE id = $1", [.text(id), .integer(nowMs)])
      }
    }
  }

  /// Deletes up to 1000 keys each of those revoked and those expired before `beforeMs`, and returns their ids.
  func deleteEnded(beforeMs: Int64) async throws -> [String] {
    try await store.write { [changes] transaction in
      let revoked = try transaction.query(
        "SELECT id FROM api_keys WHERE revoked_at_ms IS NOT NULL AND revoked_at_ms < $1 LIMIT 1000",
        [.integer(beforeMs)]
      ) { try $0.text(0) }
      let expired = try transaction.query(
        "SELECT id FROM api_keys WHERE expires_at_ms IS NOT NULL AND expires_at_ms < $1 LIMIT 1000",
        [.integer(beforeMs)]
      ) { try $0.text(0) }
      let ids = Array(Set(revoked + expired))
      for id in ids {
        try transaction.execute("DELETE FROM api_keys WHERE id = $1", [.text(id)])
        try changes?.add(id, in: transaction)
      }
      return ids
    }
  }

  /// Deletes up to 1000 expired responses to requests for keys, and returns their number.
  func deleteExpiredRequests(nowMs: Int64) async throws -> Int {
    try await store.write { try IdempotentKeyRequest.deleteExpired(nowMs: nowMs, in: $0) }
  }

  private static func find(_ id: String, in transaction: ReadTransaction) throws -> StoredApiKey? {
    try transaction.queryOne("SELECT \(columns) FROM api_keys WHERE id = $1", [.text(id)], key)
  }

  private static func key(_ row: borrowing SQLRow) throws -> StoredApiKey {
    let scopes = try row.text(3).split(separator: " ").map(String.init)
    guard let digest = SHA256Digest(bytes: try row.bytes(1)), var principal = Principal(try row.text(2), scopes: scopes)
    else { throw StoreError(.corrupt, "an API key in the database cannot be read", path: nil) }
    principal.deviceID = try row.text(10)
    return StoredApiKey(
      id: try row.text(0), digest: digest, principal: principal,
      // An unknown scope is kept and grants nothing. A key whose scopes were all dropped would be unrestricted.
      scopes: scopes.compactMap { Scope($0) ?? Scope("unknown") }, description: try row.text(4),
      createdAtMs: try row.integer(5), expiresAtMs: try row.integerIfPresent(6),
      lifetimeMs: try row.integerIfPresent(9), revokedAtMs: try row.integerIfPresent(7),
      lastUsedAtMs: try row.integerIfPresent(8))
  }
}
