import CampanileStore

/// Deletes expired data in small commits.
struct AttendanceRetention: Sendable {
  /// The time for which an expired session can still be distinguished from an unknown one.
  static let expiredSessionMs: Int64 = 7 * 24 * 3_600 * 1_000
  /// The time for which an operator can examine a notice that the notifications service has rejected.
  static let rejectedNoticeMs: Int64 = 30 * 24 * 3_600 * 1_000
  static let dropCodesSQL = """
    DELETE FROM check_ins WHERE (meeting_no, member_no, step) IN (
      SELECT meeting_no, member_no, step FROM check_ins WHERE step < $1 ORDER BY step LIMIT $2)
    """
  private static let batchRows = 500
  private static let batchesMax = 100
  private static let tombstonesMax = 1_000

  let store: Store
  let limits: AttendanceLimits

  /// Deletes sessions a week after their expiry, expired device tokens, login records of unknown names and login
  /// attempts beyond their maximum, codes that are no longer accepted, and old tombstones.
  ///
  /// - Returns: The number of deleted rows.
  func purge(nowMs: Int64) async throws -> Int {
    let tombstonesMs = nowMs - limits.tombstoneAgeMaxMs
    return try await store.purge(batchRows: 1, batchesMax: Self.batchesMax) { try Self.dropExpired($0, nowMs: nowMs) }
      + store.write { try Self.dropTombstones($0, beforeMs: tombstonesMs) }
  }

  private static func dropExpired(_ transaction: WriteTransaction, nowMs: Int64) throws -> Int {
    let codesBefore = nowMs / CheckInCode.stepMs - 10
    let unknown = try transaction.queryOne(LoginTable.unknownCountSQL) { try $0.integer(0) } ?? 0
    let surplus = min(max(0, unknown - LoginTable.unknownMax), Int64(batchRows))
    let attempts = try transaction.executeCounting(AttemptTable.purgeSQL, [.integer(nowMs), .int(batchRows)])
    let rows = try transaction.queryOne(AttemptTable.countSQL) { try $0.integer(0) } ?? 0
    let attemptSurplus = min(max(0, rows - AttemptTable.rowsMax), Int64(batchRows))
    return try attempts
      + transaction.executeCounting(AttemptTable.surplusSQL, [.integer(attemptSurplus)])
      + transaction.executeCounting(
        SessionTable.purgeSQL, [.integer(nowMs - expiredSessionMs), .int(batchRows)])
      + transaction.executeCounting(dropCodesSQL, [.integer(codesBefore), .int(batchRows)])
      + transaction.executeCounting(
        DeviceTable.purgeSQL, [.integer(nowMs - LoginDeviceToken.lifetimeMs), .int(batchRows)])
      + transaction.executeCounting(LoginTable.purgeUnknownSQL, [.integer(surplus)])
  }

  /// Deletes the oldest tombstones, and stores the last deleted sequence as the floor for older tokens.
  private static func dropTombstones(_ transaction: WriteTransaction, beforeMs: Int64) throws -> Int {
    var through: Int64?
    var count = 0
    try transaction.forEach(Tombstones.oldestSQL, [.int(tombstonesMax)]) { row in
      guard try row.integer(1) < beforeMs else { return false }
      through = try row.integer(0)
      count += 1
      return true
    }
    guard let through else { return 0 }
    try transaction.execute(Tombstones.setFloorSQL, [.integer(through)])
    try transaction.execute(Tombstones.dropSQL, [.integer(through)])
    return count
  }
}
