package import CampanileCrypto

/// One forward step of a schema. Never edit a released migration: its checksum is stored in every file it was applied
/// to.
public struct Migration: Sendable, Hashable {
  /// Unique within the list; by convention like "0001-create-notifications".
  public var identifier: String
  /// One or more statements, without transaction control.
  public var sql: String
  /// The same step for PostgreSQL, if it cannot run `sql`. Without conversions of data that were written before the
  /// first program that supported PostgreSQL.
  public var postgreSQL: String?

  public init(_ identifier: String, _ sql: String, postgreSQL: String? = nil) {
    self.identifier = identifier
    self.sql = sql
    self.postgreSQL = postgreSQL
  }

  func text(for dialect: SQLDialect) -> String {
    switch dialect {
    case .sqlite: sql
    case .postgreSQL: postgreSQL ?? sql
    }
  }

  /// The SHA-256 of the SQL, in lower-case hexadecimal.
  package func checksum(for dialect: SQLDialect) throws(CryptoError) -> String {
    try SHA256.digest(text(for: dialect)).hexadecimal
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

  /// Returns the plan of a run that continues one which has applied `earlier`.
  func following(_ earlier: [String]) -> MigrationPlan {
    MigrationPlan(applied: applied.filter { !earlier.contains($0) }, pending: earlier + pending)
  }
}
