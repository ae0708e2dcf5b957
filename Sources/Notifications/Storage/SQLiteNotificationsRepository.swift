import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileStore

/// The repository over `notifications.sqlite`.
struct SQLiteNotificationsRepository: NotificationsRepository {
  let store: Store
  let ids: EntityIDGenerator
  let nowMs: @Sendable () -> Int64
  let limits: NotificationsLimits
  let epoch: String
  /// Told after each commit whose changes became visible.
  let committed: @Sendable (_ user: String) -> Void

  /// Opens the change log: makes its epoch where there is none.
  init(
    store: Store, ids: EntityIDGenerator, nowMs: @escaping @Sendable () -> Int64, limits: NotificationsLimits,
    newEpoch: String, committed: @escaping @Sendable (String) -> Void
  ) async throws {
    self.store = store
    self.ids = ids
    self.nowMs = nowMs
    self.limits = limits
    self.committed = committed
    epoch = try await store.write { tx in
      try tx.execute(
        "INSERT INTO notifications_state (name, value) VALUES ('epoch', $1) ON CONFLICT (name) DO NOTHING",
        [.text(newEpoch)])
      return try tx.queryOne("SELECT value FROM notifications_state WHERE name = 'epoch'") { try $0.text(0) }
        ?? newEpoch
    }
  }

  // MARK: reads

  func bucket(_ id: String, user: String) throws -> Bucket? {
    try store.readSingle { try Self.bucket(id, user, $0) }
  }

  func buckets(user: String, after: (name: String, id: String)?, limit: Int) throws -> [Bucket] {
    try store.readSingle { tx in
      guard let after else {
        return try tx.query(
          "SELECT \(Records.bucketColumns) FROM buckets WHERE user_id = $1 ORDER BY name, id LIMIT $2",
          [.text(user), .int(limit)], Records.bucket)
      }
      return try tx.query(
        """
        SELECT \(Records.bucketColumns) FROM buckets WHERE user_id = $1 AND (name, id) > ($2, $3)
        ORDER BY name, id LIMIT $4
        """, [.text(user), .text(after.name), .text(after.id), .int(limit)], Records.bucket)
    }
  }

  func notification(_ id: String, user: String) throws -> Notification? {
    try store.readSingle { try Self.notification(id, user, $0) }
  }

  func notifications(_ filter: NotificationFilter, user: String, after: String?, limit: Int) throws -> [Notification] {
    var sql = "SELECT \(Records.notificationColumns) FROM notifications WHERE user_id = $1"
    var arguments: [SQLValue] = [.text(user)]
    func add(_ condition: String, _ value: String) {
      arguments.append(.text(value))
      sql += " AND \(condition) $\(arguments.count)"
    }
    if let bucketID = filter.bucketID { add("bucket_id =", bucketID) }
    if filter.unreadOnly { sql += " AND read_at_ms IS NULL" }
    if let from = filter.idFrom { add("id >=", from) }
    // Both bounds hold; the smaller one is the page's.
    if let before = [filter.idBefore, after].compactMap({ $0 }).min() { add("id <", before) }
    arguments.append(.int(limit))
    sql += " ORDER BY id DESC LIMIT $\(arguments.count)"
    return try store.readSingle { try $0.query(sql, arguments, Records.notification) }
  }

  func unreadCounts(user: String) throws -> UnreadCounts {
    try store.readSingle { try Self.unreadCounts(user, $0) }
  }

  // MARK: what reads and writes share

  static func bucket(_ id: String, _ user: String, _ tx: ReadTransaction) throws -> Bucket? {
    try tx.queryOne(
      "SELECT \(Records.bucketColumns) FROM buckets WHERE user_id = $1 AND id = $2", [.text(user), .text(id)],
      Records.bucket)
  }

  static func notification(_ id: String, _ user: String, _ tx: ReadTransaction) throws -> Notification? {
    try tx.queryOne(
      "SELECT \(Records.notificationColumns) FROM notifications WHERE user_id = $1 AND id = $2",
      [.text(user), .text(id)],
      Records.notification)
  }

  static func unreadCounts(_ user: String, _ tx: ReadTransaction) throws -> UnreadCounts {
    var counts = UnreadCounts()
    try tx.forEach("SELECT id, unread_count FROM buckets WHERE user_id = $1", [.text(user)]) { row in
      let unread = Int32(clamping: try row.integer(1))
      if unread > 0 {
        counts.byBucket[try row.text(0)] = unread
        counts.total += unread
      }
      return true
    }
    return counts
  }

  /// Runs a write, and tells watches of its changes once it is committed.
  func change<T: Sendable>(user: String, _ body: @escaping @Sendable (WriteTransaction) throws -> T) async throws -> T {
    let result = try await store.write(body)
    committed(user)
    return result
  }

  /// The same for a change that happens once for a request id; the reply is the message.
  func changeOnce<M: ProtoMessage>(
    user: String, request: RequestKey?, _ body: @escaping @Sendable (WriteTransaction) throws -> M
  ) async throws -> M {
    try await change(user: user) { [nowMs] tx in try Self.once(request, user: user, nowMs: nowMs(), tx, body) }
  }

  static func once<M: ProtoMessage>(
    _ request: RequestKey?, user: String, nowMs: Int64, _ tx: WriteTransaction, _ body: (WriteTransaction) throws -> M
  ) throws -> M {
    guard let request else { return try body(tx) }
    let key = IdempotencyKey(principal: "user/\(user)", method: request.method, requestID: request.requestID)
    var made: M?
    let reply = try tx.idempotent(key, requestHash: request.digest, nowMs: nowMs) { tx in
      let message = try body(tx)
      made = message
      return message.jsonUTF8Bytes()
    }
    if let made { return made }
    return try reply.bytes.withUnsafeBytes { try Records.decode($0) }
  }

  /// Adds to the log that watches read. The log's order is that of the commits, since there is one writer.
  static func log(
    _ event: WatchNotificationsResponse.Event, bucketID: String, user: String, nowMs: Int64, _ tx: WriteTransaction
  ) throws {
    var change = WatchNotificationsResponse()
    change.eventTime = ProtoTimestamp(millisecondsSince1970: nowMs)
    change.event = event
    try tx.execute(
      "INSERT INTO changes (user_id, bucket_id, at_ms, event) VALUES ($1, $2, $3, $4)",
      [.text(user), .text(bucketID), .integer(nowMs), .text(change.jsonString())])
  }

  static func notFound(_ what: String, _ id: String, field: String) -> RPCError {
    RPCError(
      .notFound, "\(what) \(id.prefix(64)) does not exist", reason: "\(what.uppercased())_NOT_FOUND",
      errorMetadata: ["id": String(id.prefix(64)), "field": field])
  }

  static func checkETag(_ asked: String, _ stored: String) throws(RPCError) {
    guard asked.isEmpty || asked == stored else {
      throw RPCError(
        .aborted, "the etag is \(stored), not \(asked.prefix(64))", reason: "ETAG_MISMATCH",
        errorMetadata: ["etag": stored])
    }
  }
}
