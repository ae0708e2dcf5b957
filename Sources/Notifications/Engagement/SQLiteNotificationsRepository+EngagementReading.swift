import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// Reads counts and the log of reports, for publishers.
extension SQLiteNotificationsRepository {
  /// Returns the counts of a notification. Throws NOT_FOUND for it, and PERMISSION_DENIED below publisher.
  func engagement(of id: String, user: String) async throws -> NotificationEngagement {
    try await read { transaction in
      let stored = try transaction.queryOne(
        Self.notificationSQL, [.text(user), .text(id)], NotificationRow.notification)
      guard let stored else { throw RPCError.notificationNotFound(id, field: "notificationId") }
      let bucket = try transaction.queryOne(
        Self.bucketSQL, [.text(user), .text(stored.bucketId)], BucketRow.bucket)
      guard let bucket, (bucket.shareExpireTime?.millisecondsSince1970 ?? .max) > clockMs() else {
        throw RPCError.notificationNotFound(id, field: "notificationId")
      }
      guard bucket.role.includes(.publisher) else { throw RPCError.roleMissing(.publisher, field: "notificationId") }
      let key: [SQLValue] = [.text(bucket.ownerId), .text(bucket.id), .text(id)]
      let found = try transaction.queryOne(EngagementTable.countsSQL, key, EngagementTable.counts)
      let members = try transaction.queryOne(EngagementTable.copiesSQL, key) { try $0.integer(0) } ?? 0
      let ownersCopy = try transaction.queryOne(Self.stateSQL, [.text(bucket.ownerId), .text(id)], { _ in Int64(1) })
      return NotificationEngagement(
        notificationId: id, recipientCount: Int32(clamping: members + (ownersCopy ?? 0)),
        counts: found?.counts ?? EngagementCounts(), actions: try actions(key, transaction),
        updateTime: found.map { ProtoTimestamp(millisecondsSince1970: $0.updatedMs) })
    }
  }

  /// Returns the number of recipients of each action. A notification has at most one report per recipient, device and
  /// action, so the rows are bounded.
  private func actions(_ key: [SQLValue], _ transaction: ReadTransaction) throws -> [ActionEngagement] {
    var actions: [ActionEngagement] = []
    var last = ("", "")
    try transaction.forEach(EngagementTable.actionsSQL, key) { row in
      let (action, user) = (try row.text(0), try row.text(1))
      defer { last = (action, user) }
      guard (action, user) != last else { return true }
      if actions.last?.actionId != action {
        guard actions.count < EngagementRules.reportsPerCopyMax else { return false }
        actions.append(ActionEngagement(actionId: action))
      }
      actions[actions.count - 1].recipientCount += 1
      return true
    }
    return actions
  }

  /// Returns one page of a bucket's notifications with reports, newest first, the sums of the bucket, and the token of
  /// the present. The position of `query` is the id of a notification.
  func bucketEngagement(_ query: EngagementQuery) async throws -> (
    notifications: [NotificationEngagement], totals: EngagementCounts, token: ResumeToken
  ) {
    try await read { transaction in
      let owner = try publisherBucketOwner(query.bucketID, user: query.page.user, transaction)
      let key: [SQLValue] = [.text(owner), .text(query.bucketID)]
      let rows = try transaction.query(
        EngagementTable.ofBucketSQL, key + [.text(query.page.position.first ?? "~"), .int(query.page.pageSize + 1)]
      ) { row in
        let (counts, updatedMs) = try EngagementTable.counts(row)
        return NotificationEngagement(
          notificationId: try row.text(5), counts: counts,
          updateTime: ProtoTimestamp(millisecondsSince1970: updatedMs))
      }
      let totals = try transaction.queryOne(EngagementTable.countsSQL, key + [""], EngagementTable.counts)
      let token = ResumeToken(epoch: epoch, sequence: try engagementLog(transaction).last)
      return (rows, totals?.counts ?? EngagementCounts(), token)
    }
  }

  /// Returns the position where a watch of a bucket's reports begins. Throws the errors of `publisherBucketOwner`,
  /// INVALID_ARGUMENT for a token of another watch, and OUT_OF_RANGE, reason `TOKEN_TOO_OLD`.
  func engagementStart(resumeToken: String, bucketID: String, user: String) async throws -> ResumeToken {
    try await read { transaction in
      _ = try publisherBucketOwner(bucketID, user: user, transaction)
      let log = try engagementLog(transaction)
      if resumeToken.isEmpty { return ResumeToken(epoch: epoch, sequence: log.last) }
      let token = try ResumeToken(resumeToken, user: EngagementQuery.scope(bucketID, user: user))
      guard token.epoch == epoch, (log.purgedThrough...log.last).contains(token.sequence) else {
        throw ChangeLogTable.tokenTooOld
      }
      return token
    }
  }

  /// Returns the reports about a bucket's notifications after a position, oldest first. Throws NOT_FOUND for the
  /// bucket, and PERMISSION_DENIED below publisher.
  func engagementChanges(
    after sequence: Int64, bucketID: String, user: String, rowsMax: Int
  ) async throws -> [LoggedEngagement] {
    try await read { transaction in
      let owner = try publisherBucketOwner(bucketID, user: user, transaction)
      let key: [SQLValue] = [.text(owner), .text(bucketID)]
      let rows = try transaction.query(
        EngagementTable.changesSQL, key + [.integer(sequence), .int(rowsMax)], rowsMax: max(0, rowsMax)
      ) { try EngagementTable.change($0, bucketID: bucketID) }
      var known: [String: EngagementCounts] = [:]
      return try rows.map { row in
        var row = row
        let id = row.change.notificationId
        if known[id] == nil {
          known[id] = try transaction.queryOne(EngagementTable.countsSQL, key + [.text(id)], EngagementTable.counts)?
            .counts
        }
        row.change.counts = known[id] ?? EngagementCounts()
        return row
      }
    }
  }

  /// Returns the owner of a bucket in which the user may publish.
  private func publisherBucketOwner(
    _ bucketID: String, user: String, _ transaction: ReadTransaction
  ) throws -> String {
    try administered(bucketID, by: user, role: .publisher, transaction).ownerId
  }

  private func engagementLog(_ transaction: ReadTransaction) throws -> (last: Int64, purgedThrough: Int64) {
    try transaction.queryOne(EngagementTable.logSQL) { (try $0.integer(0), try $0.integer(1)) } ?? (0, 0)
  }
}

/// A query for the counts of a bucket's notifications.
struct EngagementQuery: Sendable, Hashable {
  var bucketID: String
  var page: PositionQuery

  /// The scope of the tokens of a bucket's log, in place of a user.
  static func scope(_ bucketID: String, user: String) -> String { "\(user) engagement \(bucketID)" }
}
