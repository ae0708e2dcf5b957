/// One forward step of a schema. Never edited once released: its checksum is kept in every file it was applied to.
public struct Migration: Sendable, Hashable {
  /// Unique within the list, conventionally "0001-create-notifications".
  public var identifier: String
  /// One or more statements, without transaction control.
  public var sql: String

  public init(_ identifier: String, _ sql: String) {
    self.identifier = identifier
    self.sql = sql
  }

  /// The SHA-256 of the SQL, in lower-case hexadecimal.
  public var checksum: String { SHA256.hexadecimal(of: sql.utf8) }
}

/// What the migrations of a program mean for one file.
public struct MigrationPlan: Sendable, Hashable {
  /// Already in the file, in order.
  public var applied: [String] = []
  /// Applied by opening the store; in a dry run: would be applied.
  public var pending: [String] = []

  /// One line for the operator.
  public var text: String {
    let steps = pending.isEmpty ? "nothing to do" : "to do: \(pending.joined(separator: ", "))"
    return "\(applied.count) steps are done; \(steps)"
  }
}
