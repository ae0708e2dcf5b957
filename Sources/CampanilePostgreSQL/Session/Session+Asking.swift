import CPostgreSQL
import CampanileStore

extension Session {
  /// Runs one statement without arguments outside a transaction, and calls `body` with each row.
  func ask(_ sql: String, _ body: (borrowing SQLRow) throws -> Void) throws {
    try send(Command(kind: .statement, isWanted: true), text: sql)
    try waitForAll()
    if let failure = takeFailure() { throw failure.error }
    guard let result = takeWanted() else { throw end("a result is missing") }
    let rows = ResultRows(result)
    try rows.forEach { row in
      try body(row)
      return true
    }
  }

  /// Runs several statements in one message, as one transaction unless one is open. All commands must be answered.
  func runScript(_ sql: String) throws(StoreError) {
    try waitForAll()
    guard PQexitPipelineMode(handle) == 1, PQsendQuery(handle, sql) == 1 else { throw end("cannot send a script") }
    try flush()
    var first: StoreError?
    while true {
      while PQisBusy(handle) == 1 { try waitForSocket(orWritable: false) }
      guard let result = PQgetResult(handle) else { break }
      defer { PQclear(result) }
      switch PQresultStatus(result) {
      case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: continue
      default:
        guard let failure = ServerFailure(result, Command(kind: .statement), place: place), !failure.endsSession else {
          throw end(PQresultErrorMessage(result).map { String(cString: $0) } ?? "")
        }
        if first == nil { first = failure.error }
      }
    }
    guard PQenterPipelineMode(handle) == 1 else { throw end("the connection has no pipeline mode") }
    if let first { throw first }
  }
}

/// The rows of a complete result, which it releases at its end.
final class ResultRows {
  let result: OpaquePointer
  private let columns: [ColumnType]
  /// Texts that differ from their stored form, released with the result.
  private var texts: [UnsafeMutableRawBufferPointer] = []

  init(_ result: OpaquePointer, _ columns: [ColumnType]? = nil) {
    self.result = result
    self.columns = columns ?? (0..<PQnfields(result)).map { ColumnType(PQftype(result, $0)) }
  }

  deinit {
    PQclear(result)
    for text in texts { text.deallocate() }
  }

  /// The number of rows that the statement has changed.
  var changedCount: Int { PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0 }

  /// Calls `body` with each row until it returns false. Returns whether it has asked for all of them.
  @discardableResult
  func forEach(_ body: (borrowing SQLRow) throws -> Bool) throws -> Bool {
    let count = PQntuples(result)
    guard count > 0 else { return true }
    return try withUnsafeTemporaryAllocation(of: SQLColumn.self, capacity: columns.count) { fields in
      fields.initialize(repeating: .null)
      for row in 0..<count {
        for index in columns.indices { fields[index] = try column(row, index) }
        guard try body(SQLRow(columns: UnsafeBufferPointer(fields))) else { return false }
      }
      return true
    }
  }

  private func column(_ row: Int32, _ index: Int) throws(StoreError) -> SQLColumn {
    guard PQgetisnull(result, row, Int32(index)) == 0 else { return .null }
    let bytes = UnsafeRawBufferPointer(
      start: PQgetvalue(result, row, Int32(index)), count: Int(PQgetlength(result, row, Int32(index))))
    guard columns[index] == .text, let text = ZeroEscape.text(bytes) else {
      return try columns[index].column(bytes, index)
    }
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: text.count, alignment: 1)
    copy.copyBytes(from: text)
    texts.append(copy)
    return try columns[index].column(UnsafeRawBufferPointer(copy), index)
  }
}
