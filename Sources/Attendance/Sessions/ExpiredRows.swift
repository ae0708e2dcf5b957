import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteAttendanceRepository {
  /// How long an expired session is still told from one that never was.
  static let expiredSessionMs: Int64 = 7 * 24 * 3_600 * 1_000
  static let dropCodesSQL = """
    DELETE FROM check_ins WHERE (meeting_no, member_no, step) IN (
      SELECT meeting_no, member_no, step FROM check_ins WHERE step < $1 ORDER BY step LIMIT $2)
    """
  private static let batchRows = 500
  private static let batchesMax = 100

  /// Drops sessions a week after they have expired, and codes that are no longer accepted. Answers how many those were.
  func dropExpired(nowMs: Int64) async throws -> Int {
    let codesBefore = nowMs / CheckInCode.stepMs - 10
    var total = 0
    for _ in 0..<Self.batchesMax {
      let count = try await storeWrite { transaction in
        try transaction.execute(
          SessionTable.purgeSQL, [.integer(nowMs - Self.expiredSessionMs), .int(Self.batchRows)])
          + transaction.execute(Self.dropCodesSQL, [.integer(codesBefore), .int(Self.batchRows)])
      }
      total += count
      if count == 0 { break }
    }
    return total
  }
}
