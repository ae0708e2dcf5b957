internal import GRDBSQLite

/// One row of a result while its statement stands on it. Columns count from 0.
///
/// Throws `StoreError.invalidArgument` where a column is NULL, missing or of another storage class than asked for,
/// so a wrong mapping fails in the first test instead of yielding zeros. Cannot leave the closure it is given to.
public struct SQLRow: ~Copyable {
  let statement: OpaquePointer

  /// How many columns the row has.
  public var count: Int { Int(sqlite3_column_count(statement)) }

  /// Whether the column is NULL (or does not exist).
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

  /// An integer as a truth value: 0 is false.
  public func bool(_ column: Int) throws(StoreError) -> Bool { try integer(column) != 0 }

  /// A number; integers are widened.
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

  /// A copy of the column's bytes; of a text its UTF-8.
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

  /// The column's bytes without a copy, valid inside `body` only; empty for NULL.
  public func withBytes<T>(_ column: Int, _ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
    try body(Self.bytes(field(column)))
  }

  /// The column as a value, whatever its storage class.
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

  /// The value in a column; NULL for a column that does not exist.
  ///
  /// It is asked for once and then looked at: each `sqlite3_column_*` finds it anew, under the connection's lock. It is an unprotected
  /// value (sqlite.org/c3ref/value.html), good for one thread at a time, as the connection is.
  private func field(_ column: Int) -> OpaquePointer? {
    sqlite3_column_value(statement, Int32(truncatingIfNeeded: column))
  }

  private static func text(_ field: OpaquePointer?) -> String { String(decoding: bytes(field), as: UTF8.self) }

  /// Of a text, too: as a text it would be copied to end in a zero.
  private static func bytes(_ field: OpaquePointer?) -> UnsafeRawBufferPointer {
    guard let start = sqlite3_value_blob(field) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_value_bytes(field)))
  }

  private static func mismatch(_ column: Int, _ field: OpaquePointer?, _ wanted: String) -> StoreError {
    StoreError(
      .invalidArgument, "column \(column) holds \(name(of: sqlite3_value_type(field))) where \(wanted) was asked for")
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
