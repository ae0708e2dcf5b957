import CPostgreSQL

/// The answer to a query that was asked before its write runs.
final class AheadAnswer {
  private let columns: [ColumnType]
  private(set) var rows: ResultRows?

  init(_ columns: [ColumnType]) { self.columns = columns }

  /// Takes the result over.
  func set(_ result: OpaquePointer) { rows = ResultRows(result, columns) }
}
