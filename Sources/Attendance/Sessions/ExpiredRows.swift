import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteAttendanceRepository {
  /// The time for which an expired session can still be distinguished from an unknown one.
  static let expiredSessionMs: Int64 = 7 * 24 * 3_600 * 1_000
  static let dropCodesSQL = """
    DELETE FROM check_ins WHERE (meeting_no, member_no, step) IN (
      SELECT meeting_no, member_no, step FROM check_ins WHERE step < $1 ORDER BY step LIMIT $2)
    """
  private static let batchRows = 500
  private static let batchesMax = 100

  /// Deletes sessions a week after their expiry, expired device tokens, login records of unknown names beyond their
  /// maximum, and codes that are no longer accepted.
  ///
  /// - Returns: The number of deleted rows.
  func dropExpired(nowMs: Int64) async throws -> Int {
    let codesBefore = nowMs / CheckInCode.stepMs - 10
    let unknown = try readSingle { try $0.queryOne(LoginTable.unknownCountSQL) { try $0.integer(0) } ?? 0 }
    var surplus = max(0, unknown - LoginTable.unknownMax)
    var total = 0
    for _ in 0..<Self.batchesMax {
      let batch = min(surplus, Int64(Self.batchRows))
      surplus -= batch
      let count = try await storeWrite { transaction in
        try transaction.execute(
          SessionTable.purgeSQL, [.integer(nowMs - Self.expiredSessionMs), .int(Self.batchRows)])
          + transaction.execute(Self.dropCodesSQL, [.integer(codesBefore), .int(Self.batchRows)])
          + transaction.execute(
            DeviceTable.purgeSQL, [.integer(nowMs - LoginDeviceToken.lifetimeMs), .int(Self.batchRows)])
          + transaction.execute(LoginTable.purgeUnknownSQL, [.integer(batch)])
      }
      total += count
      if count == 0 { break }
    }
    return total
  }
}
