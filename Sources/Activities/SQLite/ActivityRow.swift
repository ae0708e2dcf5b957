import CampanileAPI
import CampanileCodec
import CampanileStore

/// The table `activities`.
enum ActivityRow {
  static let columns = """
    user_id, id, app, environment, status, origin, created_at_ms, updated_at_ms, start_ms, expire_ms, scheduled_end_ms,
    ended_at_ms, end_reason, stale_ms, relevance_score, aps_timestamp, renews, generation, channel_id, token_ids,
    version, driver_kind, driver_json, content_state, group_id, pushes_stopped
    """
  static let oneSQL = "SELECT \(columns) FROM activities WHERE user_id = $1 AND id = $2"
  static let insertSQL = """
    INSERT INTO activities (\(columns), driver_subject) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
      $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27)
    """
  /// Columns that an update changes. None of them is indexed, so that only the row is written.
  static let updateSQL = """
    UPDATE activities SET updated_at_ms = $3, stale_ms = $4, relevance_score = $5, aps_timestamp = $6, version = $7,
      driver_json = $8, content_state = $9
    WHERE user_id = $1 AND id = $2
    """
  /// The other columns that change during an activity's life.
  static let lifeSQL = """
    UPDATE activities SET status = $3, start_ms = $4, expire_ms = $5, scheduled_end_ms = $6, ended_at_ms = $7,
      end_reason = $8, generation = $9, token_ids = $10, version = $11, aps_timestamp = $12
    WHERE user_id = $1 AND id = $2
    """
  static let pushesSQL = "UPDATE activities SET pushes_stopped = $3 WHERE user_id = $1 AND id = $2"
  static let environmentSQL = "UPDATE activities SET environment = $3 WHERE user_id = $1 AND id = $2"
  static let tokensSQL = "UPDATE activities SET token_ids = $3 WHERE user_id = $1 AND id = $2"

  static func activity(_ row: borrowing SQLRow) throws -> StoredActivity {
    var activity = StoredActivity(
      user: try row.text(0), id: try row.text(1), app: try row.text(2), environment: try row.text(3),
      status: ActivityStatus(rawValue: Int32(truncatingIfNeeded: try row.integer(4))),
      origin: ActivityOrigin(rawValue: Int32(truncatingIfNeeded: try row.integer(5))),
      contentState: try row.text(23), createdMs: try row.integer(6),
      updatedMs: try row.integer(7), startMs: try row.integer(8), expireMs: try row.integer(9),
      apsTimestamp: try row.integer(15), renews: try row.bool(16), channelID: try row.text(18))
    activity.scheduledEndMs = try row.integerIfPresent(10)
    activity.endedMs = try row.integerIfPresent(11)
    activity.endReason = EndReason(rawValue: Int32(truncatingIfNeeded: try row.integer(12)))
    activity.staleMs = try row.integerIfPresent(13)
    activity.relevanceScore = row.isNull(14) ? nil : try row.real(14)
    activity.generation = try row.integer(17)
    let tokens = try row.text(19)
    if !tokens.isEmpty { activity.tokenIDs = tokens.split(separator: ",").map(String.init) }
    activity.version = try row.integer(20)
    activity.driver = try driver(kind: try row.integer(21), json: try row.textIfPresent(22))
    activity.groupID = try row.text(24)
    activity.arePushesStopped = try row.bool(25)
    return activity
  }

  static func insert(_ activity: StoredActivity, _ transaction: WriteTransaction) throws {
    try transaction.execute(
      insertSQL,
      [
        .text(activity.user), .text(activity.id), .text(activity.app), .text(activity.environment),
        .integer(Int64(activity.status.rawValue)), .integer(Int64(activity.origin.rawValue)),
        .integer(activity.createdMs), .integer(activity.updatedMs), .integer(activity.startMs),
        .integer(activity.expireMs), .integer(activity.scheduledEndMs), .integer(activity.endedMs),
        .integer(Int64(activity.endReason.rawValue)), .integer(activity.staleMs),
        real(activity.relevanceScore), .integer(activity.apsTimestamp), .bool(activity.renews),
        .integer(activity.generation), .text(activity.channelID), .text(activity.tokenIDs.joined(separator: ",")),
        .integer(activity.version), .integer(activity.driver?.kind.rawValue ?? 0), .text(json(activity.driver)),
        .text(activity.contentState), .text(activity.groupID), .bool(activity.arePushesStopped),
        .text(activity.driver?.subject ?? ""),
      ])
  }

  static func writeState(_ activity: StoredActivity, _ transaction: WriteTransaction) throws {
    try transaction.execute(
      updateSQL,
      [
        .text(activity.user), .text(activity.id), .integer(activity.updatedMs), .integer(activity.staleMs),
        real(activity.relevanceScore), .integer(activity.apsTimestamp), .integer(activity.version),
        .text(json(activity.driver)), .text(activity.contentState),
      ])
  }

  static func writeLife(_ activity: StoredActivity, _ transaction: WriteTransaction) throws {
    try transaction.execute(
      lifeSQL,
      [
        .text(activity.user), .text(activity.id), .integer(Int64(activity.status.rawValue)),
        .integer(activity.startMs), .integer(activity.expireMs), .integer(activity.scheduledEndMs),
        .integer(activity.endedMs), .integer(Int64(activity.endReason.rawValue)), .integer(activity.generation),
        .text(activity.tokenIDs.joined(separator: ",")), .integer(activity.version), .integer(activity.apsTimestamp),
      ])
  }

  private static func real(_ value: Double?) -> SQLValue { value.map { .real($0) } ?? .null }

  private static func json(_ driver: ActivityDriver?) -> String? {
    switch driver {
    case .timer(let state): state.jsonString()
    case .room(let state): state.jsonString()
    case .unread(let state): state.jsonString()
    case nil: nil
    }
  }

  private static func driver(kind: Int64, json: String?) throws -> ActivityDriver? {
    guard let json else { return nil }
    // Another version of the program may have written it.
    do throws(ProtoJSONError) {
      switch ActivityDriver.Kind(rawValue: kind) {
      case .timer: return .timer(try TimerState(jsonString: json))
      case .room: return .room(try RoomState(jsonString: json))
      case .unread: return .unread(try UnreadState(jsonString: json))
      case nil: return nil
      }
    } catch {
      throw StoreError(.corrupt, "an activity's driver cannot be read: \(error.reason)")
    }
  }
}

/// The table `activity_starts`.
enum StartRow {
  static let insertSQL = """
    INSERT INTO activity_starts (user_id, id, attributes_type, attributes, alert_json, installation_id)
    VALUES ($1, $2, $3, $4, $5, $6)
    """
  static let oneSQL = """
    SELECT attributes_type, attributes, alert_json, installation_id FROM activity_starts WHERE user_id = $1 AND id = $2
    """

  static func insert(_ start: StartContent, id: String, user: String, _ transaction: WriteTransaction) throws {
    guard start != StartContent() else { return }
    try transaction.execute(
      insertSQL,
      [
        .text(user), .text(id), .text(start.attributesType), .text(start.attributes), .text(start.alert?.jsonString()),
        .text(start.installationID),
      ])
  }

  static func find(id: String, user: String, _ transaction: ReadTransaction) throws -> StartContent {
    let found = try transaction.queryOne(oneSQL, [.text(user), .text(id)]) { row in
      var start = StartContent(
        attributesType: try row.text(0), attributes: try row.textIfPresent(1), installationID: try row.text(3))
      if let json = try row.textIfPresent(2) {
        do throws(ProtoJSONError) {
          start.alert = try Alert(jsonString: json)
        } catch {
          throw StoreError(.corrupt, "an alert cannot be read: \(error.reason)")
        }
      }
      return start
    }
    return found ?? StartContent()
  }
}
