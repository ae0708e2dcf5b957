import CampanileAPI
import CampanileBase
import CampanileService
import CampanileStore

/// A device that is to be woken.
struct PendingWake: Sendable, Hashable {
  var user: String
  var device: String
  /// The changed zones, in the order of their first change.
  var zones: [String]
  /// The generation of the last change. A change during the push gets a new one.
  var generation: Int64
  /// The time of the last change.
  var madeMs: Int64
  var attempts: Int64
  /// As last set by SetSubscriptions.
  var app: String
  var installation: String
  /// The sequence of the user's newest message.
  var sequence: Int64
}

/// Statements of `subscriptions` and `wakes`.
enum WakeTable {
  /// Selects the subscriptions to a zone.
  static let subscribedSQL = """
    SELECT device_id, record_type, name FROM subscriptions WHERE user_id = $1 AND zone = $2
    """
  static let listSQL = """
    SELECT zone, record_type, name FROM subscriptions WHERE user_id = $1 AND device_id = $2
    """
  static let subscribeSQL = """
    INSERT INTO subscriptions (user_id, zone, device_id, record_type, name) VALUES ($1, $2, $3, $4, $5)
    """
  static let unsubscribeSQL = "DELETE FROM subscriptions WHERE user_id = $1 AND device_id = $2"
  /// Selects the devices that messages wake.
  static let forUpdatesSQL = """
    SELECT device_id FROM devices WHERE user_id = $1 AND wakes_for_updates = 1 AND device_id <> $2
    """
  static let zonesSQL = "SELECT zones FROM wakes WHERE user_id = $1 AND device_id = $2"
  static let spentSQL = "SELECT wakes_spent_ms FROM devices WHERE user_id = $1 AND device_id = $2"
  // A further change does not postpone a waiting device.
  static let putSQL = """
    INSERT INTO wakes (user_id, device_id, zones, generation, made_ms, due_ms, attempts)
    VALUES ($1, $2, $3, $4, $5, $6, 0)
    ON CONFLICT (user_id, device_id) DO UPDATE SET zones = excluded.zones, generation = excluded.generation,
      made_ms = excluded.made_ms
    """
  static let dropSQL = "DELETE FROM wakes WHERE user_id = $1 AND device_id = $2"
  static let dueSQL = """
    SELECT w.user_id, w.device_id, w.zones, w.generation, w.made_ms, w.attempts, d.app, d.installation_id,
      u.message_sequence
    FROM wakes AS w
    JOIN devices AS d ON d.user_id = w.user_id AND d.device_id = w.device_id
    JOIN users AS u ON u.user_id = w.user_id
    WHERE w.due_ms <= $1 ORDER BY w.due_ms, w.user_id, w.device_id LIMIT $2
    """
  static let nextSQL = "SELECT due_ms FROM wakes ORDER BY due_ms LIMIT 1"
  static let doneSQL = "DELETE FROM wakes WHERE user_id = $1 AND device_id = $2 AND generation = $3"
  static let againSQL = "UPDATE wakes SET due_ms = $3, attempts = $4 WHERE user_id = $1 AND device_id = $2"
  static let spendSQL = """
    UPDATE devices SET wakes_spent_ms = $3, woken_at_ms = $4 WHERE user_id = $1 AND device_id = $2
    """

  static func pending(_ row: borrowing SQLRow) throws -> PendingWake {
    PendingWake(
      user: try row.text(0), device: try row.text(1), zones: try row.text(2).split(separator: " ").map(String.init),
      generation: try row.integer(3), madeMs: try row.integer(4), attempts: try row.integer(5), app: try row.text(6),
      installation: try row.text(7), sequence: try row.integer(8))
  }

  static func subscriptions(_ user: String, _ device: String, _ transaction: ReadTransaction) throws
    -> [ZoneSubscription]
  {
    try transaction.query(listSQL, [.text(user), .text(device)]) { row in
      ZoneSubscription(zoneId: try row.text(0), recordType: try row.text(1), name: try row.text(2))
    }.sorted { ($0.zoneId, $0.recordType, $0.name) < ($1.zoneId, $1.recordType, $1.name) }
  }
}

/// Schedules pushes for the devices that a change concerns, in its transaction.
struct WakePlanner {
  let transaction: WriteTransaction
  let user: String
  let nowMs: Int64
  let notifier: AlarmSchedule

  /// Wakes the subscribers of a commit other than its author.
  func wake(zone: String, changed: [(name: String, recordType: String)], author: String) throws {
    let subscribed = try transaction.query(WakeTable.subscribedSQL, [.text(user), .text(zone)]) { row in
      (device: try row.text(0), recordType: try row.text(1), name: try row.text(2))
    }
    var devices: Set<String> = []
    for subscription in subscribed where subscription.device != author {
      let matches = changed.contains { asset in
        (subscription.recordType.isEmpty || subscription.recordType == asset.recordType)
          && (subscription.name.isEmpty || subscription.name == asset.name)
      }
      if matches { devices.insert(subscription.device) }
    }
    for device in devices.sorted() { try add(device, zone: zone) }
  }

  /// Wakes the devices other than the author that want to be woken for messages.
  func wakeForUpdates(author: String) throws {
    let devices = try transaction.query(WakeTable.forUpdatesSQL, [.text(user), .text(author)]) { try $0.text(0) }
    for device in devices { try add(device, zone: nil) }
  }

  private func add(_ device: String, zone: String?) throws {
    let key: [SQLValue] = [.text(user), .text(device)]
    let waiting = try transaction.queryOne(WakeTable.zonesSQL, key) { try $0.text(0) }
    var zones = waiting?.split(separator: " ").map(String.init) ?? []
    if let zone, !zones.contains(zone) { zones.append(zone) }
    let spentMs = try transaction.queryOne(WakeTable.spentSQL, key) { try $0.integer(0) } ?? 0
    let dueMs = WakeBudget.dueMs(spentMs: spentMs, nowMs: nowMs)
    try transaction.execute(
      WakeTable.putSQL,
      key + [
        .text(zones.joined(separator: " ")), .integer(try transaction.next("generation")), .integer(nowMs),
        .integer(dueMs),
      ])
    notifier.scheduled(dueMs)
  }
}
