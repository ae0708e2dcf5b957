import GRDB
import GRDBSQLite

extension StoreError {
  /// Creates the error for an extended result code of SQLite and its message.
  static func sqlite(_ extendedCode: Int32, _ message: String, path: String?) -> StoreError {
    StoreError(code(for: extendedCode), message, path: path, engineCode: String(extendedCode))
  }

  /// Returns the last error of a connection.
  static func last(of handle: OpaquePointer, path: String?) -> StoreError {
    let message = sqlite3_errmsg(handle).map { String(cString: $0) } ?? "unknown error"
    return sqlite(sqlite3_extended_errcode(handle), message, path: path)
  }

  /// Returns nil for an error that is not SQLite's.
  static func sqlite(_ error: any Error, path: String?) -> StoreError? {
    (error as? DatabaseError).map { sqlite($0.extendedResultCode.rawValue, $0.message ?? "SQLite error", path: path) }
  }

  private static func code(for extendedCode: Int32) -> Code {
    switch extendedCode & 0xFF {
    case SQLITE_FULL: .diskFull
    case SQLITE_CONSTRAINT: .constraint
    case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt
    case SQLITE_BUSY, SQLITE_LOCKED: .busy
    case SQLITE_INTERRUPT: .interrupted
    case SQLITE_ERROR, SQLITE_TOOBIG, SQLITE_MISMATCH, SQLITE_RANGE, SQLITE_MISUSE: .invalidArgument
    default: .unavailable
    }
  }
}
