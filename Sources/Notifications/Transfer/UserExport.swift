import CampanileAPI
import CampanileRPC
import CampanileService
import CampanileStore

/// Reads all data of a user, one page per transaction, so that a slow receiver blocks nothing.
///
/// Notifications published after the start are omitted, and so are new buckets unless a notification has moved there.
/// Objects changed in the meantime are exported in their current state.
struct UserExport: Sendable {
  static let formatVersion: Int32 = 1
  private static let pageRows = 100

  let store: Store
  let user: String

  static let lastNotificationSQL = "SELECT max(id) FROM notifications WHERE user_id = $1"
  static let lastBucketSQL = "SELECT max(id) FROM buckets WHERE user_id = $1"
  static let settingsSQL = "SELECT settings_json FROM users WHERE user_id = $1"
  static let bucketsSQL = """
    SELECT \(BucketRow.columns) FROM buckets
    WHERE user_id = $1 AND id > $2 AND id <= $3 AND deleted_at_ms IS NULL ORDER BY id LIMIT $4
    """
  static let bucketSQL = """
    SELECT \(BucketRow.columns) FROM buckets WHERE user_id = $1 AND id = $2 AND deleted_at_ms IS NULL
    """
  static let notificationsSQL = """
    SELECT \(NotificationRow.columns) FROM notifications
    WHERE user_id = $1 AND id > $2 AND id <= $3 ORDER BY id LIMIT $4
    """
  static let contentsSQL = """
    SELECT c.content_id, c.data FROM content_refs AS r JOIN contents AS c ON c.content_id = r.content_id
    WHERE r.user_id = $1 AND r.notification_id = $2
    """
  static let automationSQL = """
    SELECT id, payload FROM automation WHERE user_id = $1 AND kind = $2 AND id > $3 ORDER BY id LIMIT $4
    """
  static let scheduledSQL = """
    SELECT id, payload FROM scheduled WHERE user_id = $1 AND id > $2 ORDER BY id LIMIT $3
    """

  /// Sends the header, settings, blocked users, buckets, automation, notifications and scheduled notifications, each
  /// ordered by id.
  func run(send: (TransferEntry) async throws -> Void) async throws {
    let (settings, lastBucket, lastNotification) = try await store.read { transaction in
      (
        try transaction.queryOne(Self.settingsSQL, [.text(user)]) { try $0.textIfPresent(0) }.flatMap { $0 },
        try transaction.queryOne(Self.lastBucketSQL, [.text(user)]) { try $0.textIfPresent(0) }.flatMap { $0 },
        try transaction.queryOne(Self.lastNotificationSQL, [.text(user)]) { try $0.textIfPresent(0) }.flatMap { $0 }
      )
    }
    let header = ExportHeader(formatVersion: Self.formatVersion, userId: user)
    try await send(.of(.header(header)))
    if let settings {
      var message = try StoredJSON.message(UserSettings.self, Array(settings.utf8), "settings")
      message.etag = ""
      try await send(.of(.settings(message)))
    }
    try await pages(after: "") { position in
      try await store.readSingle { transaction in
        try transaction.query(
          SQLiteNotificationsRepository.blockedSQL, [.text(user), .text(position), .int(Self.pageRows)],
          TransferRows.blockedUser)
      }
    } each: { blocked in
      try await send(.of(.blockedUser(blocked)))
      return blocked.userId
    }
    var sentBuckets: Set<String> = []
    try await pages(after: "") { position in
      try await page(Self.bucketsSQL, position, lastBucket ?? "", TransferRows.bucket)
    } each: { bucket in
      sentBuckets.insert(bucket.id)
      try await send(.of(.bucket(bucket)))
      return bucket.id
    }
    try await sendAutomation(send: send)
    try await pages(after: "") { position in
      try await page(Self.notificationsSQL, position, lastNotification ?? "", TransferRows.notification)
    } each: { notification in
      // The notification may have moved to a bucket created after the start.
      if sentBuckets.insert(notification.bucketId).inserted, let bucket = try await bucket(notification.bucketId) {
        try await send(.of(.bucket(bucket)))
      }
      try await send(.of(.notification(try exported(notification))))
      return notification.id
    }
    try await pages(after: "") { position in
      try await payloads(Self.scheduledSQL, [.text(user), .text(position)])
    } each: { row in
      let notification = try StoredJSON.message(Notification.self, row.payload, "a scheduled notification")
      try await send(.of(.scheduled(try exported(notification))))
      return row.id
    }
  }

  private func sendAutomation(send: (TransferEntry) async throws -> Void) async throws {
    for kind in AutomationKind.allCases {
      try await pages(after: "") { position in
        try await payloads(Self.automationSQL, [.text(user), .integer(kind.rawValue), .text(position)])
      } each: { row in
        switch kind {
        case .template:
          var template = try StoredJSON.message(Template.self, row.payload, "a template")
          template.etag = ""
          try await send(.of(.template(template)))
        case .heartbeat:
          var heartbeat = try StoredJSON.message(Heartbeat.self, row.payload, "a heartbeat")
          heartbeat.etag = ""
          try await send(.of(.heartbeat(heartbeat)))
        case .webhook:
          var webhook = try StoredJSON.message(Webhook.self, row.payload, "a webhook")
          webhook.etag = ""
          webhook.headers = webhook.headers.mapValues { _ in "" }
          try await send(.of(.webhook(webhook)))
        }
        return row.id
      }
    }
  }

  private func pages<Row>(
    after start: String, read: (String) async throws -> [Row], each: (Row) async throws -> String
  ) async throws {
    var position = start
    while true {
      let rows = try await read(position)
      for row in rows { position = try await each(row) }
      if rows.count < Self.pageRows { return }
    }
  }

  private func page<Row: Sendable>(
    _ sql: String, _ position: String, _ last: String, _ map: @Sendable (borrowing SQLRow) throws -> Row
  ) async throws -> [Row] {
    try await store.readSingle { transaction in
      try transaction.query(sql, [.text(user), .text(position), .text(last), .int(Self.pageRows)], map)
    }
  }

  private func payloads(_ sql: String, _ arguments: [SQLValue]) async throws -> [(id: String, payload: [UInt8])] {
    try await store.readSingle { transaction in
      try transaction.query(sql, arguments + [.int(Self.pageRows)]) { (try $0.text(0), try $0.bytes(1)) }
    }
  }

  private func bucket(_ id: String) async throws -> Bucket? {
    try await store.readSingle { try $0.queryOne(Self.bucketSQL, [.text(user), .text(id)], TransferRows.bucket) }
  }

  private func exported(_ notification: Notification) async throws -> ExportedNotification {
    let exported = ExportedNotification(notification: notification)
    guard notification.attachments.contains(where: { !$0.contentId.isEmpty }) else { return exported }
    return try await store.readSingle { transaction in
      var exported = exported
      try transaction.forEach(Self.contentsSQL, [.text(user), .text(notification.id)]) { row in
        exported.contents[try row.text(0)] = try row.bytes(1)
        return true
      }
      return exported
    }
  }
}

extension TransferEntry {
  static func of(_ entry: Entry) -> TransferEntry {
    TransferEntry(entry: entry)
  }
}
