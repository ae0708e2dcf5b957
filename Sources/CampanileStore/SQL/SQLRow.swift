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
  public func isNull(_ column: Int) -> Bool { type(column) == SQLITE_NULL }

  public func integer(_ column: Int) throws(StoreError) -> Int64 {
    try expect(column, SQLITE_INTEGER)
    return sqlite3_column_int64(statement, Int32(truncatingIfNeeded: column))
  }

  public func integerIfPresent(_ column: Int) throws(StoreError) -> Int64? {
    isNull(column) ? nil : try integer(column)
  }

  /// An integer as a truth value: 0 is false.
  public func bool(_ column: Int) throws(StoreError) -> Bool { try integer(column) != 0 }

  /// A number; integers are widened.
  public func real(_ column: Int) throws(StoreError) -> Double {
    if type(column) != SQLITE_INTEGER { try expect(column, SQLITE_FLOAT) }
    return sqlite3_column_double(statement, Int32(truncatingIfNeeded: column))
  }

  public func text(_ column: Int) throws(StoreError) -> String {
    try expect(column, SQLITE_TEXT)
    let index = Int32(truncatingIfNeeded: column)
    guard let start = sqlite3_column_text(statement, index) else { return "" }
    let count = Int(sqlite3_column_bytes(statement, index))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  public func textIfPresent(_ column: Int) throws(StoreError) -> String? {
    isNull(column) ? nil : try text(column)
  }

  /// A copy of the column's bytes; of a text its UTF-8.
  public func bytes(_ column: Int) throws(StoreError) -> [UInt8] {
    if type(column) != SQLITE_TEXT { try expect(column, SQLITE_BLOB) }
    return withBytes(column) { [UInt8]($0) }
  }

  public func bytesIfPresent(_ column: Int) throws(StoreError) -> [UInt8]? {
    isNull(column) ? nil : try bytes(column)
  }

  /// The column's bytes without a copy, valid inside `body` only; empty for NULL.
  public func withBytes<T>(_ column: Int, _ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
    let index = Int32(truncatingIfNeeded: column)
    guard let start = sqlite3_column_blob(statement, index) else {
      return try body(UnsafeRawBufferPointer(start: nil, count: 0))
    }
    return try body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, index))))
  }

  /// The column as a value, whatever its storage class.
  public func value(_ column: Int) -> SQLValue {
    switch type(column) {
    case SQLITE_INTEGER: .integer(sqlite3_column_int64(statement, Int32(truncatingIfNeeded: column)))
    case SQLITE_FLOAT: .real(sqlite3_column_double(statement, Int32(truncatingIfNeeded: column)))
    case SQLITE_TEXT: .text(withBytes(column) { String(decoding: $0, as: UTF8.self) })
    case SQLITE_BLOB: .blob(withBytes(column) { [UInt8]($0) })
    default: .null
    }
  }

  private func type(_ column: Int) -> Int32 {
    guard column >= 0, column < count else { return SQLITE_NULL }
    return sqlite3_column_type(statement, Int32(truncatingIfNeeded: column))
  }

  private func expect(_ column: Int, _ wanted: Int32) throws(StoreError) {
    let found = type(column)
    guard found == wanted else {
      throw StoreError(
        .invalidArgument, "column \(column) holds \(Self.name(of: found)) where \(Self.name(of: wanted)) was asked for")
    }
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
