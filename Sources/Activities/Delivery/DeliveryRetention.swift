import CampanileStore

/// What is kept of pushes, and for how long.
struct DeliveryRetention: Sendable {
  static let batchRows = 500
  static let batchesMax = 200

  static let ledgerSQL = """
    DELETE FROM push_ledger WHERE apns_id IN (SELECT apns_id FROM push_ledger WHERE apns_id < $1 ORDER BY apns_id LIMIT $2)
    """
  static let deadSQL = """
    DELETE FROM dead_letters WHERE apns_id IN (
      SELECT apns_id FROM dead_letters WHERE apns_id < $1 ORDER BY apns_id LIMIT $2)
    """
  static let statisticsSQL = """
    DELETE FROM push_statistics WHERE (app, hour_ms, measure) IN (
      SELECT app, hour_ms, measure FROM push_statistics WHERE hour_ms < $1 ORDER BY hour_ms LIMIT $2)
    """
  static let budgetsSQL = """
    DELETE FROM push_budgets WHERE lane IN (
      SELECT lane FROM push_budgets WHERE updated_at_ms < $1 ORDER BY updated_at_ms LIMIT $2)
    """
  /// The id behind which a table has more than its share.
  static let ledgerBorderSQL = "SELECT apns_id FROM push_ledger ORDER BY apns_id DESC LIMIT 1 OFFSET $1"
  static let deadBorderSQL = "SELECT apns_id FROM dead_letters ORDER BY apns_id DESC LIMIT 1 OFFSET $1"

  let store: Store
  let board: DeliveryBoard
  let limits: DeliveryLimits

  func run(nowMs: Int64, budget: PriorityBudget.Limits) async throws -> Int {
    let count = try store.readSingle { try $0.queryOne("SELECT count(*) FROM pushes") { try $0.integer(0) } }
    board.recounted(count ?? 0)
    var total = 0
    let ledgerID = try border(Self.ledgerBorderSQL, rows: limits.ledgerRowsMax, beforeMs: nowMs - limits.ledgerAgeMaxMs)
    total += try await delete(Self.ledgerSQL, .text(ledgerID))
    let deadID = try border(
      Self.deadBorderSQL, rows: limits.deadLettersMax, beforeMs: nowMs - limits.deadLetterAgeMaxMs)
    total += try await delete(Self.deadSQL, .text(deadID))
    if board.mayHoldDeadLetters { try await lookForDeadLetters() }
    total += try await delete(Self.statisticsSQL, .integer(nowMs - limits.statisticsAgeMaxMs))
    // A bucket that nobody took from for so long is full, as if it were not there.
    total += try await delete(Self.budgetsSQL, .integer(nowMs - PriorityBudget.fullAfterMs(budget)))
    return total
  }

  private func lookForDeadLetters() async throws {
    try await store.write { transaction in
      let hasAny = try transaction.queryOne(DeadLetters.anySQL) { _ in true } ?? false
      if !hasAny, !transaction.isUndoneAlone { board.hint { $0.foundNoDeadLetters() } }
    }
  }

  /// The id below which rows go: by age, or by number where that is more.
  private func border(_ sql: String, rows: Int64, beforeMs: Int64) throws -> String {
    let byAge = PushIDGenerator.lowerBound(timeMs: beforeMs)
    let byCount = try store.readSingle { try $0.queryOne(sql, [.integer(rows)]) { try $0.text(0) } }
    return max(byAge, byCount ?? "")
  }

  private func delete(_ sql: String, _ border: SQLValue) async throws -> Int {
    var total = 0
    for _ in 0..<Self.batchesMax {
      let count = try await store.write { try $0.execute(sql, [border, .int(Self.batchRows)]) }
      total += count
      if count < Self.batchRows { break }
    }
    return total
  }
}
