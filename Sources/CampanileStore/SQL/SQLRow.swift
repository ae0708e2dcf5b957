internal import GRDBSQLite

/// The current row of a running statement. Columns count from 0.
///
/// Accessors throw `StoreError.invalidArgument` if a column is NULL, missing or of another storage class. A wrong
/// mapping thus fails in the first test instead of yielding zeros. A row cannot escape the closure that receives it.
public struct SQLRow: ~Copyable {
  let statement: OpaquePointer

  /// Number of columns.
  public var count: Int { Int(sqlite3_column_count(statement)) }

  /// Reports whether the column is NULL or does not exist.
  public func isNull(_ column: Int) -> Bool { sqlite3_value_type(field(column)) == SQLITE_NULL }

  public func integer(_ column: Int) throws(StoreError) -> Int64 {
    let field = field(column)
    guard sqlite3_value_type(field) == SQLITE_INTEGER else { throw Self.mismatch(column, field, "an integer") }
    return sqlite3_value_int64(field)
  }

  public func integerIfPresent(_ column: Int) throws(StoreError) -> Int64? {
    let field = field(column)
    switch sqlite3_value_type(field) {
    case SQLITE_INTEGER: return sqlite3_value_int64(field)
    case SQLITE_NULL: return nil
    default: throw Self.mismatch(column, field, "an integer")
    }
  }

  /// Returns an integer as a boolean; 0 is false.
  public func bool(_ column: Int) throws(StoreError) -> Bool { try integer(column) != 0 }

  /// Returns a number; integers are converted.
  public func real(_ column: Int) throws(StoreError) -> Double {
    let field = field(column)
    switch sqlite3_value_type(field) {
    case SQLITE_INTEGER, SQLITE_FLOAT: return sqlite3_value_double(field)
    default: throw Self.mismatch(column, field, "a real")
    }
  }

  public func text(_ column: Int) throws(StoreError) -> String {
    let field = field(column)
    guard sqlite3_value_type(field) == SQLITE_TEXT else { throw Self.mismatch(column, field, "a text") }
    return Self.text(field)
  }

  public func textIfPresent(_ column: Int) throws(StoreError) -> String? {
    let field = field(column)
    switch sqlite3_value_type(field) {
    case SQLITE_TEXT: return Self.text(field)
    case SQLITE_NULL: return nil
    default: throw Self.mismatch(column, field, "a text")
    }
  }

  /// Returns a copy of the column's bytes; for a text, its UTF-8.
  public func bytes(_ column: Int) throws(StoreError) -> [UInt8] {
    let field = field(column)
    switch sqlite3_value_type(field) {
    case SQLITE_TEXT, SQLITE_BLOB: return [UInt8](Self.bytes(field))
    default: throw Self.mismatch(column, field, "a blob")
    }
  }

  public func bytesIfPresent(_ column: Int) throws(StoreError) -> [UInt8]? {
    isNull(column) ? nil : try bytes(column)
  }

  /// Calls `body` with the column's bytes without copying them. Valid inside `body` only; empty for NULL.
  public func withBytes<T>(_ column: Int, _ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
    try body(Self.bytes(field(column)))
  }

  /// Returns the column's value, whatever its storage class.
  public func value(_ column: Int) -> SQLValue {
    let field = field(column)
    return switch sqlite3_value_type(field) {
    case SQLITE_INTEGER: .integer(sqlite3_value_int64(field))
    case SQLITE_FLOAT: .real(sqlite3_value_double(field))
    case SQLITE_TEXT: .text(Self.text(field))
    case SQLITE_BLOB: .blob([UInt8](Self.bytes(field)))
    default: .null
    }
  }

  /// Returns the value in a column; NULL if the column does not exist.
  ///
  /// Fetched once per access, because each `sqlite3_column_*` function looks the value up under the connection's lock.
  /// It is an unprotected value (sqlite.org/c3ref/value.html), to be used by one thread at a time, like the connection.
  private func field(_ column: Int) -> OpaquePointer? {
    sqlite3_column_value(statement, Int32(truncatingIfNeeded: column))
  }

  private static func text(_ field: OpaquePointer?) -> String { String(decoding: bytes(field), as: UTF8.self) }

  /// Reads texts as blobs as well: `sqlite3_value_text` may copy a text to append a zero.
  private static func bytes(_ field: OpaquePointer?) -> UnsafeRawBufferPointer {
    guard let start = sqlite3_value_blob(field) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(field)))
  }

  private static func mismatch(_ column: Int, _ field: OpaquePointer?, _ wanted: String) -> StoreError {
    StoreError(
      .invalidArgument, "column \(column) holds \(name(of: sqlite3_value_type(field))) instead of \(wanted)")
  }

  private static func name(of type: Int32) -> String {
    switch type {
    case SQLITE_INTEGER: "an integer"
    case SQLITE_FLOAT: "a real"
    case SQLITE_TEXT: "a text"
    case SQLITE_BLOB: "a blob"
    default: "NULL"
    }
  }
}
