package import CampanileStore
package import Testing

extension Store {
  /// Expects that a list of the users `b…` reads the same number of rows, however many users precede and follow them.
  ///
  /// - Parameters:
  ///   - sql: The list, whose `arguments` select the range.
  ///   - insertSQL: Adds the user `$1`.
  package func expectOnlyRangeIsRead(
    by sql: String, _ arguments: [SQLValue], insertSQL: String, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    func add(_ prefix: String, count: Int) async throws {
      _ = try await write { transaction in
        for number in 0..<count { try transaction.execute(insertSQL, [.text("\(prefix)\(number)")]) }
      }
    }
    // The first user after the range ends the query.
    try await add("b", count: 3)
    try await add("c", count: 1)
    let steps = try await self.steps(of: sql, arguments)
    try await add("a", count: 200)
    try await add("d", count: 200)
    #expect(steps > 0, sourceLocation: sourceLocation)
    #expect(try await self.steps(of: sql, arguments) == steps, sourceLocation: sourceLocation)
  }

  /// Returns the steps of SQLite's virtual machine for one run of a query, which ascend with the rows that it reads.
  ///
  /// SQLite must be built with its table of statements (`SQLITE_ENABLE_STMTVTAB`), as by Debian.
  private func steps(of sql: String, _ arguments: [SQLValue]) async throws -> Int64 {
    let stepsSQL = "SELECT coalesce(sum(nstep), 0) FROM sqlite_stmt WHERE sql = $1"
    return try await readSingle { transaction in
      let before = try transaction.queryOne(stepsSQL, [.text(sql)]) { try $0.integer(0) } ?? 0
      _ = try transaction.query(sql, arguments) { _ in }
      return (try transaction.queryOne(stepsSQL, [.text(sql)]) { try $0.integer(0) } ?? 0) - before
    }
  }

  /// Expects that a statement uses an index, given as in its query plan, and that it neither scans a table nor sorts.
  ///
  /// - Parameter allowsIndexScans: Whether the statement may read a whole index.
  package func expectPlan(
    of sql: String, uses index: String, allowsIndexScans: Bool = false,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let plan = try queryPlan(sql)
    let comment: Comment = "\(plan)"
    #expect(
      try fullScans(sql, allowingIndexScans: allowsIndexScans) == [], comment, sourceLocation: sourceLocation)
    #expect(plan.contains { "\($0) ".contains(" \(index)") }, comment, sourceLocation: sourceLocation)
    #expect(!plan.contains { $0.contains("TEMP B-TREE") }, comment, sourceLocation: sourceLocation)
  }
}
