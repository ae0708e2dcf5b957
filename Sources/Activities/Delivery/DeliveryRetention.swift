import CampanileStore

/// Retention of the delivery log, dead letters, statistics and budgets.
struct DeliveryRetention: Sendable {
  static let batchRows = 500
  static let batchesMax = 200

  static let deliveryLogSQL = """
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
  /// The first id beyond a table's maximum number of rows.
  static let deliveryLogBorderSQL = "SELECT apns_id FROM push_ledger ORDER BY apns_id DESC LIMIT 1 OFFSET $1"
  static let deadBorderSQL = "SELECT apns_id FROM dead_letters ORDER BY apns_id DESC LIMIT 1 OFFSET $1"

  let store: Store
  let notifier: DeliveryNotifier
  let limits: DeliveryLimits

  func run(nowMs: Int64, budgets: [PriorityBudget.Limits]) async throws -> Int {
    notifier.recounted(try await store.readSingle { try PushTable.count($0) })
    var total = 0
    let deliveryLogID = try await border(
      Self.deliveryLogBorderSQL, rows: limits.deliveryLogRowsMax, beforeMs: nowMs - limits.deliveryLogAgeMaxMs)
    total += try await delete(Self.deliveryLogSQL, .text(deliveryLogID))
    let deadID = try await border(
      Self.deadBorderSQL, rows: limits.deadLettersMax, beforeMs: nowMs - limits.deadLetterAgeMaxMs)
    total += try await delete(Self.deadSQL, .text(deadID))
    if !store.isShared, notifier.mayHoldDeadLetters { try await lookForDeadLetters() }
    total += try await delete(Self.statisticsSQL, .integer(nowMs - limits.statisticsAgeMaxMs))
    let fullAfterMs = budgets.map(PriorityBudget.fullAfterMs).max() ?? 0
    // A bucket unused for this long is full, which is equivalent to having no row.
    total += try await delete(Self.budgetsSQL, .integer(nowMs - fullAfterMs))
    if store.isShared {
      let last = try await store.readSingle { try PushEndTable.bounds($0).last }
      total += try await delete(PushEndTable.purgeSQL, .integer(last - Int64(PushEnds.countMax) + 1))
    }
    return total
  }

  private func lookForDeadLetters() async throws {
    try await store.write { transaction in
      let hasAny = try transaction.queryOne(DeadLetters.anySQL) { _ in true } ?? false
      if !hasAny, !transaction.usesSavepoint { notifier.hint { $0.foundNoDeadLetters() } }
    }
  }

  /// Returns the id below which rows are deleted: by age or by number, whichever deletes more.
  private func border(_ sql: String, rows: Int64, beforeMs: Int64) async throws -> String {
    let byAge = PushIDGenerator.lowerBound(timeMs: beforeMs)
    let byCount = try await store.readSingle { try $0.queryOne(sql, [.integer(rows)]) { try $0.text(0) } }
    return max(byAge, byCount ?? "")
  }

  private func delete(_ sql: String, _ border: SQLValue) async throws -> Int {
    try await store.purge(batchRows: Self.batchRows, batchesMax: Self.batchesMax) {
      try $0.executeCounting(sql, [border, .int(Self.batchRows)])
    }
  }
}
