import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteActivitiesRepository {
  func watchStart(resumeToken: String, activityID: String?, user: String) async throws -> ResumeToken {
    try await read { transaction in
      let start = try ChangeLogTable.start(resumeToken: resumeToken, epoch: epoch, user: user, transaction)
      if let activityID { _ = try find(activityID, user: user, transaction) }
      return start
    }
  }

  func changes(after token: ResumeToken, user: String, rowsMax: Int) async throws -> [LoggedActivityChange] {
    try await read { transaction in
      try ChangeLogTable.checkRetained(token, user: user, transaction)
      let changes = try transaction.query(
        ActivityChangeLog.ofUserSQL, [.text(user), .integer(token.sequence), .int(rowsMax)], rowsMax: max(0, rowsMax),
        ActivityChangeLog.change)
      // All updates of an activity within a page would show the same state: only the last contains it.
      var seen: Set<String> = []
      return try changes.reversed().map { change in
        var change = change
        guard change.kind != .updated || seen.insert(change.activityID).inserted else { return change }
        change.activity = try transaction.queryOne(
          ActivityRow.oneSQL, [.text(user), .text(change.activityID)], ActivityRow.activity)
        return change
      }.reversed()
    }
  }
}
