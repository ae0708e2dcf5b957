import CPostgreSQL
import CampanileStore

/// A statement that one session has prepared, with the types that the server inferred.
final class PreparedCommand: CachedStatement {
  let sql: String
  let name: String
  let kind: StatementKinds
  /// Whether it may change rows.
  let changes: Bool
  let parameters: [ParameterType]
  let columns: [ColumnType]
  private let discarded: DiscardedNames

  /// - Parameter description: The server's answer to Describe.
  init(_ sql: String, _ name: String, _ kind: StatementKinds, _ description: OpaquePointer, _ discarded: DiscardedNames)
  {
    self.sql = sql
    self.name = name
    self.kind = kind
    self.discarded = discarded
    parameters = (0..<PQnparams(description)).map { ParameterType(PQparamtype(description, $0)) }
    columns = (0..<PQnfields(description)).map { ColumnType(PQftype(description, $0)) }
    changes = kind != .queries || (Self.beginsWithCTE(sql) && Self.writes(sql))
  }

  deinit { discarded.names.append(name) }

  /// False: results are complete when they are mapped, so a nested use does not disturb the outer one.
  var isInUse: Bool { false }

  private static func beginsWithCTE(_ sql: String) -> Bool {
    sql.drop { $0.isWhitespace }.prefix(4).uppercased() == "WITH"
  }

  private static func writes(_ sql: String) -> Bool {
    let text = sql.uppercased()
    return ["INSERT", "UPDATE", "DELETE"].contains { text.contains($0) }
  }
}

/// The names of prepared statements that the cache has dropped, to be dropped by the server.
final class DiscardedNames {
  var names: [String] = []
}

/// The statements with which a session begins and ends transactions, prepared at its start.
enum ControlStatement: String, CaseIterable {
  case beginWriting, beginReading, takeLane, followLane, commit, rollBack
  case setSavepoint, releaseSavepoint, rollBackToSavepoint, checkConstraints, deferConstraints

  var name: String { rawValue }

  var sql: String {
    switch self {
    case .beginWriting: "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
    case .beginReading: "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    case .takeLane: LaneSchema.takeLane
    case .followLane: LaneSchema.followLane
    case .commit: "COMMIT"
    case .rollBack: "ROLLBACK"
    case .setSavepoint: "SAVEPOINT w"
    case .releaseSavepoint: "RELEASE w"
    case .rollBackToSavepoint: "ROLLBACK TO w"
    case .checkConstraints: "SET CONSTRAINTS ALL IMMEDIATE"
    case .deferConstraints: "SET CONSTRAINTS ALL DEFERRED"
    }
  }

  func isFor(_ role: SessionRole) -> Bool {
    switch self {
    case .commit, .rollBack: true
    case .beginReading: role == .reader
    default: role == .writer
    }
  }
}
