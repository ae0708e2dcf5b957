import GRDB
import GRDBSQLite

extension StoreError {
  /// Creates the error for an extended result code of SQLite and its message.
  static func sqlite(_ extendedCode: Int32, _ message: String, path: String?) -> StoreError {
    StoreError(code(for: extendedCode), message, path: path, sqliteCode: extendedCode)
  }

  /// Returns the last error of a connection.
  static func last(of handle: OpaquePointer, path: String?) -> StoreError {
    let message = sqlite3_errmsg(handle).map { String(cString: $0) } ?? "unknown error"
    return sqlite(sqlite3_extended_errcode(handle), message, path: path)
  }

  /// Converts any error to a store error, so that opening, committing and backing up throw no other type.
  static func from(_ error: any Error, path: String?) -> StoreError {
    switch error {
    case let error as StoreError: error
    case let error as DatabaseError:
      sqlite(error.extendedResultCode.rawValue, error.message ?? "SQLite error", path: path)
    default: StoreError(.unavailable, String(describing: error), path: path)
    }
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

  /// Whether the connection that reported the error must not be used for another commit. Its cache, its lock state or
  /// the kernel's view of the file may differ from the disk; for example, a failed fsync drops dirty pages.
  var discredits: Bool {
    // Bodies may throw store errors of their own; only errors of SQLite concern the connection.
    guard sqliteCode != nil else { return false }
    switch code {
    case .diskFull, .unavailable, .corrupt: return true
    default: return false
    }
  }
}
