import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteNotificationsRepository {
  /// Each insertion adds one run, so there is at most one to delete.
  static let surplusRunsSQL = """
    DELETE FROM action_runs WHERE user_id = $1
      AND id = (SELECT id FROM action_runs WHERE user_id = $1 ORDER BY id DESC LIMIT 1 OFFSET $2)
    """
  static let runSQL = "SELECT payload FROM action_runs WHERE user_id = $1 AND id = $2"
  static let runsSQL = "SELECT payload FROM action_runs WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
  static let runsOfNotificationSQL = """
    SELECT payload FROM action_runs
    WHERE user_id = $1 AND id < $2 AND notification_id = $4 ORDER BY id DESC LIMIT $3
    """

  func insert(_ run: ActionRun, user: String, _ transaction: WriteTransaction) throws {
    try transaction.execute(
      """
      INSERT INTO action_runs (user_id, id, notification_id, created_at_ms, payload) VALUES ($1, $2, $3, $4, $5)
      """,
      [
        .text(user), .text(run.id), .text(run.notificationId),
        .integer(run.createTime?.millisecondsSince1970 ?? 0), .blob(run.jsonUTF8Bytes()),
      ])
    try transaction.execute(Self.surplusRunsSQL, [.text(user), .int(limits.actionRunsPerUserMax)])
  }

  func update(_ run: ActionRun, user: String, _ transaction: WriteTransaction) throws {
    try transaction.execute(
      "UPDATE action_runs SET payload = $1 WHERE user_id = $2 AND id = $3",
      [.blob(run.jsonUTF8Bytes()), .text(user), .text(run.id)])
  }

  func run(_ id: String, user: String) async throws -> ActionRun? {
    try await readSingle { try $0.queryOne(Self.runSQL, [.text(user), .text(id)], Self.actionRun) }
  }

  /// Returns one page, newest first.
  func runs(_ query: PositionQuery, of notificationID: String?) async throws -> PageRows<ActionRun> {
    // Greater than every id, because ids have only lower-case letters and digits after the prefix.
    var arguments: [SQLValue] = [
      .text(query.user), .text(query.position.first ?? "r_~"), .int(query.pageSize + 1),
    ]
    if let notificationID { arguments.append(.text(notificationID)) }
    return try await readSingle { [arguments] transaction in
      var rows = PageRows<ActionRun>(countMax: query.pageSize)
      try transaction.forEach(notificationID == nil ? Self.runsSQL : Self.runsOfNotificationSQL, arguments) { row in
        rows.add(try Self.actionRun(row), sizeBytes: try row.bytes(0).count)
      }
      return rows
    }
  }

  /// Returns the webhook with its unmasked headers, for sending; never use it in a response.
  func webhook(_ id: String, user: String) async throws -> Webhook? {
    try await readSingle { try $0.automation(.webhook, id, user: user, as: Webhook.self) }
  }

  /// Throws NOT_FOUND, naming `field`.
  func template(_ id: String, user: String, field: String) async throws(RPCError) -> Template {
    let found: Template?
    do {
      found = try await readSingle { try $0.automation(.template, id, user: user, as: Template.self) }
    } catch let failure as RPCError {
      throw failure
    } catch {
      throw RPCError(.internalError, "the template cannot be read")
    }
    guard let found else { throw AutomationKind.template.notFound(id, field: field) }
    return found
  }

  private static func actionRun(_ row: borrowing SQLRow) throws -> ActionRun {
    try StoredJSON.message(ActionRun.self, row, 0, "an action's run")
  }
}
