import CPostgreSQL

/// The rows of a running query that have arrived and are not mapped yet, so that a result need not fit into memory.
final class RowStream {
  private var results: [OpaquePointer] = []
  private var front = 0
  /// Whether the rows are discarded, because the query's caller wants no more.
  var isAbandoned = false
  /// Whether the wait for the first row was counted.
  var isCounted = false

  deinit { while let result = next() { PQclear(result) } }

  func append(_ result: OpaquePointer) {
    if isAbandoned { PQclear(result) } else { results.append(result) }
  }

  /// Returns the next result, which has one row as a rule. The caller clears it.
  func next() -> OpaquePointer? {
    guard front < results.count else { return nil }
    defer { front += 1 }
    let result = results[front]
    if front + 1 == results.count {
      results.removeAll(keepingCapacity: true)
      front = -1
    }
    return result
  }
}
