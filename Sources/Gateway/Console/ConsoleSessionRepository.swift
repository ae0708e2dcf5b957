import CampanileAPI
import CampanileCrypto
import CampanileRPC
import CampanileStore

/// The sessions of the console stored in the database.
struct ConsoleSessionRepository: Sendable {
  let store: Store
  /// Informs the other gateways on the database; nil if there are none.
  var changes: AccessChanges?

  private static let columns =
    "id, digest, principal, scopes, device_id, method, key_id, lodge_member_id, lodge_secret, created_at_ms, "
    + "ends_at_ms, used_at_ms, address, user_agent"

  /// Calls `body` with every session, in no particular order.
  func forEach(_ body: @Sendable (StoredConsoleSession) -> Void) async throws {
    try await store.readSingle { transaction in
      try transaction.forEach("SELECT \(Self.columns) FROM console_sessions") { row in
        body(try Self.session(row))
        return true
      }
    }
  }

  func find(_ id: String) async throws -> StoredConsoleSession? {
    try await store.readSingle {
      try $0.queryOne("SELECT \(Self.columns) FROM console_sessions WHERE id = $1", [.text(id)], Self.session)
    }
  }

  /// Returns when each session was last used, as far as it is stored.
  func uses() async throws -> [(id: String, atMs: Int64)] {
    try await store.readSingle {
      try $0.query("SELECT id, used_at_ms FROM console_sessions") { (try $0.text(0), try $0.integer(1)) }
    }
  }

  /// Stores a new session together with its event in the audit log, and deletes another one.
  func insert(_ session: StoredConsoleSession, replacing replaced: String?, _ event: StoredAuditEvent) async throws {
    try await store.write { [changes] transaction in
      if let replaced { try Self.delete(replaced, changes, in: transaction) }
      try changes?.add(session.id, in: transaction)
      try transaction.execute(
        "INSERT INTO console_sessions (\(Self.columns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        [
          .text(session.id), .blob(session.digest.bytes), .text(session.principal.name),
          .text(session.scopes.map(\.description).joined(separator: " ")), .text(session.principal.deviceID),
          .integer(Int64(session.method.rawValue)), .text(session.keyID), .text(session.lodgeMemberID),
          .blob(session.sealedLodgeSecret), .integer(session.createdAtMs), .integer(session.endsAtMs),
          .integer(session.usedAtMs), .text(session.address), .text(session.userAgent),
        ])
      try AuditEventRepository.insert(event, in: transaction)
    }
  }

  /// Deletes a session and stores the event.
  func delete(_ id: String, _ event: StoredAuditEvent) async throws {
    try await store.write { [changes] transaction in
      try Self.delete(id, changes, in: transaction)
      try AuditEventRepository.insert(event, in: transaction)
    }
  }

  /// Deletes sessions that have ended by themselves, unless they were used later than this gateway knows.
  func delete(ended: [(id: String, usedAtMs: Int64)]) async throws {
    try await store.write { transaction in
      for session in ended {
        try transaction.execute(
          "DELETE FROM console_sessions WHERE id = $1 AND used_at_ms <= $2",
          [.text(session.id), .integer(session.usedAtMs)])
      }
    }
  }

  /// Stores when sessions were last used.
  func touch(_ uses: [(id: String, atMs: Int64)]) async throws {
    try await store.write { transaction in
      for use in uses {
        try transaction.execute(
          "UPDATE console_sessions SET used_at_ms = $2 WHERE id = $1 AND used_at_ms < $2",
          [.text(use.id), .integer(use.atMs)])
      }
    }
  }

  private static func delete(_ id: String, _ changes: AccessChanges?, in transaction: WriteTransaction) throws {
    try transaction.execute("DELETE FROM console_sessions WHERE id = $1", [.text(id)])
    try changes?.add(id, in: transaction)
  }

  private static func session(_ row: borrowing SQLRow) throws -> StoredConsoleSession {
    let scopes = try row.text(3).split(separator: " ").map(String.init)
    guard let digest = SHA256Digest(bytes: try row.bytes(1)), var principal = Principal(try row.text(2), scopes: scopes)
    else { throw StoreError(.corrupt, "a console session in the database cannot be read", path: nil) }
    principal.deviceID = try row.text(4)
    return StoredConsoleSession(
      id: try row.text(0), digest: digest, principal: principal,
      // As for keys: a session without scopes would be unrestricted.
      scopes: scopes.compactMap { Scope($0) ?? Scope("unknown") },
      method: SignInMethod(rawValue: Int32(truncatingIfNeeded: try row.integer(5))), keyID: try row.text(6),
      lodgeMemberID: try row.text(7), sealedLodgeSecret: try row.bytes(8), createdAtMs: try row.integer(9),
      endsAtMs: try row.integer(10), usedAtMs: try row.integer(11), address: try row.text(12),
      userAgent: try row.text(13))
  }
}
