import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteActivitiesRepository {
  static let groupSQL = """
    SELECT \(ActivityRow.columns) FROM activities
    WHERE app = $1 AND group_id = $2 AND (user_id, id) > ($3, $4) AND ended_at_ms IS NULL AND group_id <> ''
    ORDER BY user_id, id LIMIT $5
    """

  func updateGroup(
    _ query: GroupQuery, _ change: StateChange, idempotency: IdempotentRequest?
  ) async throws -> UpdateActivityGroupResponse {
    try await write { transaction in
      try once(idempotency, transaction) {
        let found = try activities(of: query, transaction)
        var (updated, skipped) = (0, 0)
        for activity in found.prefix(query.page.pageSize) {
          do {
            try UpdateRules.checkDriver(activity, change)
            _ = try apply(change, to: activity, transaction)
            updated += 1
          } catch let refusal as RPCError where refusal.code != .resourceExhausted {
            skipped += 1
          } catch is RPCError where updated + skipped > 0 {
            // The queue is full: the next call continues here.
            break
          }
        }
        return UpdateActivityGroupResponse(
          updatedCount: Int32(clamping: updated), skippedCount: Int32(clamping: skipped),
          nextPageToken: query.nextPageToken(found, visited: updated + skipped))
      }
    }
  }

  func endGroup(
    _ query: GroupQuery, _ change: StateChange, idempotency: IdempotentRequest?
  ) async throws -> EndActivityGroupResponse {
    try await write { transaction in
      try once(idempotency, transaction) {
        let found = try activities(of: query, transaction)
        for activity in found.prefix(query.page.pageSize) {
          do {
            _ = try apply(change, to: activity, transaction)
          } catch let refusal as RPCError where refusal.reason == Reason.payloadTooLarge.rawValue {
            // End it without the state or alert that does not fit.
            _ = try apply(StateChange(priority: .high, end: change.end), to: activity, transaction)
          }
        }
        return EndActivityGroupResponse(
          endedCount: Int32(clamping: min(found.count, query.page.pageSize)),
          hasMore: found.count > query.page.pageSize)
      }
    }
  }

  private func activities(of query: GroupQuery, _ transaction: ReadTransaction) throws -> [StoredActivity] {
    let after = query.page.position.count == 2 ? query.page.position : ["", ""]
    return try transaction.query(
      Self.groupSQL,
      [.text(query.app), .text(query.groupID), .text(after[0]), .text(after[1]), .int(query.page.pageSize + 1)],
      ActivityRow.activity)
  }
}
