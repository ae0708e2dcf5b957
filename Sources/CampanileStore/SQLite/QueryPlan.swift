/// Parses the output of EXPLAIN QUERY PLAN.
enum QueryPlan {
  static func details(of sql: String, on connection: SQLiteConnection) throws -> [String] {
    var details: [String] = []
    // Parameters stay unbound: the plan does not depend on them.
    try connection.forEachRow("EXPLAIN QUERY PLAN " + sql, binding: nil) { row in
      details.append(try row.text(3))
      return true
    }
    return details
  }

  static func fullScans(in details: [String], allowingIndexScans: Bool) -> [String] {
    details.filter { detail in
      guard detail.hasPrefix("SCAN "), !detail.hasPrefix("SCAN CONSTANT ROW"), !detail.hasPrefix("SCAN (") else {
        return false
      }
      return !(allowingIndexScans && detail.contains(" USING "))
    }
  }
}
