import GRDB
import GRDBSQLite

extension StoreError {
  /// The error for an extended result code of SQLite and its message.
  static func sqlite(_ extendedCode: Int32, _ message: String, path: String?) -> StoreError {
    StoreError(code(for: extendedCode), message, path: path, sqliteCode: extendedCode)
  }

  /// The last failure of a connection.
  static func last(of handle: OpaquePointer, path: String?) -> StoreError {
    let message = sqlite3_errmsg(handle).map { String(cString: $0) } ?? "unknown error"
    return sqlite(sqlite3_extended_errcode(handle), message, path: path)
  }

  /// Any error as a store error, so that no caller ever meets another type from opening, committing or backing up.
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

  /// Whether the connection that reported this must not be trusted with another commit: its cache, its lock state or
  /// the kernel's view of the file may differ from what is on disk (a failed fsync drops dirty pages).
  var discredits: Bool {
    // Bodies may throw store errors of their own making: only SQLite's say something about the connection.
    guard sqliteCode != nil else { return false }
    switch code {
    case .diskFull, .unavailable, .corrupt: return true
    default: return false
    }
  }
}
