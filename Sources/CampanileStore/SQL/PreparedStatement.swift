import GRDB
import GRDBSQLite

/// A statement of one connection, ready to be bound and stepped.
///
/// GRDB compiles and owns it; binding and stepping talk to SQLite, which is what makes a one-row read cost a
/// quarter of one through GRDB's own row cursor.
final class PreparedStatement {
  /// Longest text or blob bound: far below SQLite's own limit of 1 GB, far above any frame.
  static let valueBytesMax = 256 << 20

  private let statement: Statement
  let sql: String
  let kind: StatementKinds
  let handle: OpaquePointer
  /// For each SQLite parameter the index of the argument it takes. `$2 … $1` numbers its parameters by appearance,
  /// while PostgreSQL takes the digits: the digits win.
  private let argumentIndexes: [Int]
  private let argumentCount: Int
  private let buffer = BindBuffer()
  /// Whether it changes nothing.
  let isReadOnly: Bool
  /// Set while a cursor stands on the statement, so that a nested use compiles its own.
  var isInUse = false

  /// Throws `invalidArgument` when parameters are neither all `$n` without gaps nor all plain `?`.
  init(_ statement: Statement, _ sql: String, _ kind: StatementKinds) throws(StoreError) {
    self.statement = statement
    self.sql = sql
    self.kind = kind
    handle = statement.sqliteStatement
    isReadOnly = statement.isReadonly
    var indexes: [Int] = []
    let count = sqlite3_bind_parameter_count(handle)
    var named = 0
    for parameter in 0..<count {
      if let name = sqlite3_bind_parameter_name(handle, parameter + 1) {
        let text = String(cString: name)
        guard text.first == "$", let number = Int(text.dropFirst()), number >= 1, number <= Int(count) else {
          throw StoreError(.invalidArgument, "parameter \(text): write $1, $2, … without gaps")
        }
        named += 1
        indexes.append(number - 1)
      } else {
        indexes.append(Int(parameter))
      }
    }
    guard named == 0 || named == indexes.count else {
      throw StoreError(.invalidArgument, "a statement mixes $n and ? parameters")
    }
    argumentIndexes = indexes
    argumentCount = indexes.count
  }

  /// Binds all arguments. Texts and blobs are copied.
  func bind(_ arguments: [SQLValue]) throws(StoreError) {
    guard arguments.count == argumentCount else {
      throw StoreError(
        .invalidArgument, "the statement takes \(argumentCount) arguments and was given \(arguments.count)")
    }
    // A parameter may take the argument of another, which then is copied twice.
    var sizeBytes = 0
    for index in argumentIndexes { sizeBytes += arguments[index].sizeBytes }
    let isBuffered = buffer.begin(sizeBytes: sizeBytes)
    var parameter: Int32 = 1
    for index in argumentIndexes {
      let code = bind(arguments[index], at: parameter, isBuffered: isBuffered)
      guard code == SQLITE_OK else {
        throw .sqlite(code, "argument $\(index + 1) cannot be bound", path: nil)
      }
      parameter += 1
    }
  }

  /// Back to the start, free of its arguments. The code of a failed step comes again here and was reported there.
  func reset() {
    _ = sqlite3_reset(handle)
    if argumentCount > 0 { _ = sqlite3_clear_bindings(handle) }
  }

  private func bind(_ value: SQLValue, at parameter: Int32, isBuffered: Bool) -> Int32 {
    switch value {
    case .null: return sqlite3_bind_null(handle, parameter)
    case .integer(let value): return sqlite3_bind_int64(handle, parameter, value)
    case .real(let value): return sqlite3_bind_double(handle, parameter, value)
    case .text(var value):
      return value.withUTF8 { bind(UnsafeRawBufferPointer($0), at: parameter, isText: true, isBuffered: isBuffered) }
    case .blob(let value):
      return value.withUnsafeBytes { bind($0, at: parameter, isText: false, isBuffered: isBuffered) }
    }
  }

  private func bind(_ bytes: UnsafeRawBufferPointer, at parameter: Int32, isText: Bool, isBuffered: Bool) -> Int32 {
    guard bytes.count <= Self.valueBytesMax else { return SQLITE_TOOBIG }
    // A null pointer would bind NULL where the empty text or blob is meant.
    guard !bytes.isEmpty, var start = bytes.baseAddress else {
      return isText
        ? sqlite3_bind_text(handle, parameter, "", 0, Self.transient) : sqlite3_bind_zeroblob(handle, parameter, 0)
    }
    var lifetime: sqlite3_destructor_type? = Self.transient
    if isBuffered, let kept = buffer.copy(bytes) {
      // SQLITE_STATIC: it stays where it is until the statement is reset.
      (start, lifetime) = (kept, nil)
    }
    let count = Int32(bytes.count)
    return isText
      ? sqlite3_bind_text(handle, parameter, start.assumingMemoryBound(to: CChar.self), count, lifetime)
      : sqlite3_bind_blob(handle, parameter, start, count, lifetime)
  }

  /// SQLITE_TRANSIENT, a macro that C spells as the pointer -1 and Swift does not import.
  private static var transient: sqlite3_destructor_type {
    unsafeBitCast(-1, to: sqlite3_destructor_type.self)
  }
}

extension SQLValue {
  /// Of a text or blob; 0 for what a statement holds in itself.
  fileprivate var sizeBytes: Int {
    switch self {
    case .text(let text): text.utf8.count
    case .blob(let bytes): bytes.count
    case .null, .integer, .real: 0
    }
  }
}
