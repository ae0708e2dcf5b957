public import CampanileStore

/// Purges old changes from the log, oldest first, in one small batch per commit.
///
/// The newest change is always retained, because the next sequence is derived from it. Changes that a feed of another
/// service has not read yet are retained beyond their maximum age, but not beyond the maximum number of rows.
public struct ChangeLogCompactor: Sendable {
  private let store: Store
  private let retention: ChangeRetention

  public init(store: Store, retention: ChangeRetention) {
    self.store = store
    self.retention = retention
  }

  /// Purges what is due in at most `batchesMax` commits. Returns the number of purged changes.
  @discardableResult
  public func compact(nowMs: Int64, batchesMax: Int = 1_000) async throws -> Int {
    var total = 0
    let batchRows = max(1, retention.batchRows)
    for _ in 0..<max(0, batchesMax) {
      let count = try await store.write { try dropBatch(of: batchRows, nowMs: nowMs, $0) }
      total += count
      if count < batchRows { break }
    }
    return total
  }

  public static let batchSQL = """
    SELECT sequence, user_id, at_ms FROM changes WHERE sequence >= $1 AND sequence < $2 ORDER BY sequence
    """
  public static let dropSQL = "DELETE FROM changes WHERE sequence >= $1 AND sequence <= $2"
  public static let markSQL = "UPDATE users SET compacted_through = $1 WHERE user_id = $2"

  private func dropBatch(of batchRows: Int, nowMs: Int64, _ transaction: WriteTransaction) throws -> Int {
    let first = try transaction.queryOne(ChangeLogTable.firstSQL) { try $0.integer(0) } ?? 0
    let last = try transaction.queryOne(ChangeLogTable.lastSQL) { try $0.integer(0) } ?? 0
    guard first < last else { return 0 }
    let taken =
      try transaction.queryOne(ChangeLogTable.cursorsSQL) { try $0.integerIfPresent(0) }.flatMap { $0 } ?? last
    let oldestMs = nowMs - retention.ageMaxMs
    let end = min(last, first + Int64(batchRows))
    var users: [String: Int64] = [:]
    var through: Int64?
    try transaction.forEach(Self.batchSQL, [.integer(first), .integer(end)]) { row in
      let sequence = try row.integer(0)
      let isSurplus = last - sequence >= retention.rowsMax
      let isOld = try row.integer(2) < oldestMs && sequence <= taken
      guard isSurplus || isOld else { return false }
      users[try row.text(1)] = sequence
      through = sequence
      return true
    }
    guard let through else { return 0 }
    for (user, sequence) in users { try transaction.execute(Self.markSQL, [.integer(sequence), .text(user)]) }
    return try transaction.executeCounting(Self.dropSQL, [.integer(first), .integer(through)])
  }
}
