import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteActivitiesRepository {
  func activity(_ id: String, user: String) async throws -> GetActivityResponse {
    try await read { transaction in
      let activity = try find(id, user: user, transaction)
      let start = try StartRow.find(id: id, user: user, transaction)
      return GetActivityResponse(
        activity: activity.message, attributesType: start.attributesType, attributesJson: start.attributes ?? "")
    }
  }

  static let listSQL = list("")
  static let listLiveSQL = list(" AND ended_at_ms IS NULL")
  static let listOfAppSQL = list(" AND app = $5")
  static let listLiveOfAppSQL = list(" AND ended_at_ms IS NULL AND app = $5")
  private static func list(_ condition: String) -> String {
    """
    SELECT \(ActivityRow.columns) FROM activities
    WHERE user_id = $1 AND (created_at_ms, id) < ($2, $3)\(condition) ORDER BY created_at_ms DESC, id DESC LIMIT $4
    """
  }

  func activities(_ query: ActivityQuery) async throws -> [StoredActivity] {
    let before = query.before
    var arguments: [SQLValue] = [
      .text(query.user), .integer(before.createdMs), .text(before.id), .int(query.page.pageSize + 1),
    ]
    let sql: String
    if let app = query.app {
      arguments.append(.text(app))
      sql = query.includesEnded ? Self.listOfAppSQL : Self.listLiveOfAppSQL
    } else {
      sql = query.includesEnded ? Self.listSQL : Self.listLiveSQL
    }
    // Stop after a page's bytes; the next page continues with the rest.
    return try await readSingle { [arguments] transaction in
      var bytes = 0
      var found: [StoredActivity] = []
      try transaction.forEach(sql, arguments) { row in
        let activity = try ActivityRow.activity(row)
        found.append(activity)
        bytes += activity.pageBytes
        return bytes <= query.pageBytesMax
      }
      return found
    }
  }

  static let liveCountSQL = "SELECT count(*) FROM activities WHERE user_id = $1 AND ended_at_ms IS NULL AND app = $2"
  static let tokenCountsSQL = """
    SELECT kind, count(*) FROM push_tokens WHERE user_id = $1 AND kind IN (1, 2, 3) AND app = $2 AND state = 1
    GROUP BY kind
    """

  func status(app: String, user: String) async throws -> GetActivityStatusResponse {
    try await read { transaction in
      let arguments: [SQLValue] = [.text(user), .text(app)]
      let live = try transaction.queryOne(Self.liveCountSQL, arguments) { try $0.integer(0) } ?? 0
      var response = GetActivityStatusResponse(liveCount: Int32(clamping: live))
      try transaction.forEach(Self.tokenCountsSQL, arguments) { row in
        let count = Int32(clamping: try row.integer(1))
        switch TokenKind(rawValue: try row.integer(0)) {
        case .device: response.deviceTokenCount = count
        case .update: response.updateTokenCount = count
        case .pushToStart: response.pushToStartTokenCount = count
        case .channel, .widgets, .control, nil: break
        }
        return true
      }
      response.canStartRemotely = response.pushToStartTokenCount > 0
      return response
    }
  }

  static let drivenSQL = driven("")
  static let drivenOfSubjectSQL = driven(" AND driver_subject = $4")
  private static func driven(_ condition: String) -> String {
    """
    SELECT \(ActivityRow.columns) FROM activities
    WHERE user_id = $1 AND driver_kind = $2 AND app = $3\(condition) AND ended_at_ms IS NULL AND driver_kind > 0
    """
  }

  func driven(
    _ kind: ActivityDriver.Kind, app: String, subject: String?, user: String, _ transaction: ReadTransaction
  ) throws -> [StoredActivity] {
    let arguments: [SQLValue] = [.text(user), .integer(kind.rawValue), .text(app)]
    guard let subject else { return try transaction.query(Self.drivenSQL, arguments, ActivityRow.activity) }
    return try transaction.query(Self.drivenOfSubjectSQL, arguments + [.text(subject)], ActivityRow.activity)
  }

  func changeDriven<Response: ProtoMessage>(
    _ kind: ActivityDriver.Kind, app: String, subject: String?, user: String, idempotency: IdempotentRequest?,
    _ decide: @escaping @Sendable (StoredActivity, Int64) throws -> StateChange?,
    respond: @escaping @Sendable ([StoredActivity]) throws -> Response
  ) async throws -> Response {
    try await write { transaction in
      try once(idempotency, transaction) {
        let nowMs = clockMs()
        let activities = try driven(kind, app: app, subject: subject, user: user, transaction).map { activity in
          guard let change = try decide(activity, nowMs) else { return activity }
          return try apply(change, to: activity, transaction)
        }
        return try respond(activities)
      }
    }
  }
}
