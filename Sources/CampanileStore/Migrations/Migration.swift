import CampanileCrypto

/// One forward step of a schema. Never edit a released migration: its checksum is stored in every file it was applied
/// to.
public struct Migration: Sendable, Hashable {
  /// Unique within the list; by convention like "0001-create-notifications".
  public var identifier: String
  /// One or more statements, without transaction control.
  public var sql: String

  public init(_ identifier: String, _ sql: String) {
    self.identifier = identifier
    self.sql = sql
  }

  /// The SHA-256 of the SQL, in lower-case hexadecimal.
  public var checksum: String {
    get throws(CryptoError) { try SHA256.digest(sql).hexadecimal }
  }
}

/// The effect of a program's migrations on one file.
public struct MigrationPlan: Sendable, Hashable {
  /// Migrations already applied to the file, in order.
  public var applied: [String] = []
  /// Migrations that opening the store applies, or would apply in a dry run.
  public var pending: [String] = []

  /// A one-line summary for the operator.
  public var text: String {
    let steps = pending.isEmpty ? "nothing to do" : "to do: \(pending.joined(separator: ", "))"
    return "\(applied.count) steps are done; \(steps)"
  }
}
