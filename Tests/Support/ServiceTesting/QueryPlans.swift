package import CampanileStore
package import Testing

extension Store {
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
