internal import GRDBSQLite

/// The current row of a running statement. Columns count from 0.
///
/// Accessors throw `StoreError.invalidArgument` if a column is NULL, missing or of another storage class. A wrong
/// mapping thus fails in the first test instead of yielding zeros. A row cannot escape the closure that receives it.
public struct SQLRow: ~Copyable {
  /// SQLite's statement; nil for another engine.
  private let statement: OpaquePointer?
  /// The values of another engine.
  private let columns: UnsafeBufferPointer<SQLColumn>

  init(statement: OpaquePointer) {
    self.statement = statement
    columns = UnsafeBufferPointer(start: nil, count: 0)
  }

  package init(columns: UnsafeBufferPointer<SQLColumn>) {
    statement = nil
    self.columns = columns
  }

  /// Number of columns.
  public var count: Int { statement.map { Int(sqlite3_column_count($0)) } ?? columns.count }

  /// Reports whether the column is NULL or does not exist.
  public func isNull(_ column: Int) -> Bool {
    guard let statement else { return field(column).storage == .null }
    return sqlite3_column_type(statement, Int32(truncatingIfNeeded: column)) == SQLITE_NULL
  }

  public func integer(_ column: Int) throws(StoreError) -> Int64 {
    let field = field(column)
    guard field.storage == .integer else { throw Self.mismatch(column, field, "an integer") }
    return field.integer
  }

  public func integerIfPresent(_ column: Int) throws(StoreError) -> Int64? {
    let field = field(column)
    switch field.storage {
    case .integer: return field.integer
    case .null: return nil
    default: throw Self.mismatch(column, field, "an integer")
    }
  }

  /// Returns an integer as a boolean; 0 is false.
  public func bool(_ column: Int) throws(StoreError) -> Bool { try integer(column) != 0 }

  /// Returns a number; integers are converted.
  public func real(_ column: Int) throws(StoreError) -> Double {
    let field = field(column)
    switch field.storage {
    case .integer: return Double(field.integer)
    case .real: return field.real
    default: throw Self.mismatch(column, field, "a real")
    }
  }

  public func text(_ column: Int) throws(StoreError) -> String {
    let field = field(column)
    guard field.storage == .text else { throw Self.mismatch(column, field, "a text") }
    return String(decoding: field.bytes, as: UTF8.self)
  }

  public func textIfPresent(_ column: Int) throws(StoreError) -> String? {
    let field = field(column)
    switch field.storage {
    case .text: return String(decoding: field.bytes, as: UTF8.self)
    case .null: return nil
    default: throw Self.mismatch(column, field, "a text")
    }
  }

  /// Returns a copy of the column's bytes; for a text, its UTF-8.
  public func bytes(_ column: Int) throws(StoreError) -> [UInt8] {
    let field = field(column)
    switch field.storage {
    case .text, .blob: return [UInt8](field.bytes)
    default: throw Self.mismatch(column, field, "a blob")
    }
  }

  public func bytesIfPresent(_ column: Int) throws(StoreError) -> [UInt8]? {
    isNull(column) ? nil : try bytes(column)
  }

  /// Calls `body` with the column's bytes without copying them. Valid inside `body` only; empty for NULL.
  public func withBytes<T>(_ column: Int, _ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
    try body(field(column).bytes)
  }

  /// Returns the column's value, whatever its storage class.
  public func value(_ column: Int) -> SQLValue {
    let field = field(column)
    return switch field.storage {
    case .integer: .integer(field.integer)
    case .real: .real(field.real)
    case .text: .text(String(decoding: field.bytes, as: UTF8.self))
    case .blob: .blob([UInt8](field.bytes))
    case .null: .null
    }
  }

  /// Returns the value in a column; NULL if the column does not exist.
  private func field(_ column: Int) -> SQLColumn {
    guard let statement else { return columns.indices.contains(column) ? columns[column] : .null }
    return Self.field(statement, column)
  }

  /// Fetches a value of SQLite once per access, because each `sqlite3_column_*` function looks the value up under the
  /// connection's lock. It is an unprotected value (sqlite.org/c3ref/value.html), to be used by one thread at a time,
  /// like the connection.
  @inline(__always)
  private static func field(_ statement: OpaquePointer, _ column: Int) -> SQLColumn {
    let value = sqlite3_column_value(statement, Int32(truncatingIfNeeded: column))
    return switch sqlite3_value_type(value) {
    case SQLITE_INTEGER: SQLColumn(.integer, integer: sqlite3_value_int64(value))
    case SQLITE_FLOAT: SQLColumn(.real, integer: Int64(bitPattern: sqlite3_value_double(value).bitPattern))
    case SQLITE_TEXT: SQLColumn(.text, bytes: bytes(value))
    case SQLITE_BLOB: SQLColumn(.blob, bytes: bytes(value))
    default: .null
    }
  }

  /// Reads texts as blobs as well: `sqlite3_value_text` may copy a text to append a zero.
  private static func bytes(_ field: OpaquePointer?) -> UnsafeRawBufferPointer {
    guard let start = sqlite3_value_blob(field) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(field)))
  }

  private static func mismatch(_ column: Int, _ field: SQLColumn, _ wanted: String) -> StoreError {
    StoreError(.invalidArgument, "column \(column) holds \(name(of: field.storage)) instead of \(wanted)")
  }

  private static func name(of storage: SQLColumn.Class) -> String {
    switch storage {
    case .integer: "an integer"
    case .real: "a real"
    case .text: "a text"
    case .blob: "a blob"
    case .null: "NULL"
    }
  }
}
