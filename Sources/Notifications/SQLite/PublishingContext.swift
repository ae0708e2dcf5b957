import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// The columns of a user's bucket row that publishing needs.
struct BucketState: Sendable, Hashable {
  /// Reads the user's row as well, because publishing needs both.
  static let selectSQL = """
    SELECT b.owner_id, b.role, b.share_expires_at_ms, b.share_count, b.is_muted, b.snoozed_until_ms, b.quiet_hours_json,
      u.notification_count, u.has_quiet_hours, u.settings_json
    FROM buckets b LEFT JOIN users u ON u.user_id = b.user_id
    WHERE b.user_id = $1 AND b.id = $2 AND b.deleted_at_ms IS NULL
    """
  static func query(_ id: String, of user: String) -> SQLQuery { SQLQuery(selectSQL, [.text(user), .text(id)]) }

  static let membersSQL = "SELECT user_id FROM buckets WHERE id = $1 AND owner_id = $2 AND owner_id <> ''"

  /// The owner; empty in the owner's own row.
  var ownerID: String
  var role: BucketRole
  var shareExpiresAtMs: Int64?
  /// The number of members without the owner; known only in the owner's row.
  var shareCount: Int64
  var isMuted: Bool
  var snoozedUntilMs: Int64?
  /// The quiet hours of the bucket; nil if the user's apply.
  var quietHours: QuietHours?

  init(_ row: borrowing SQLRow) throws {
    ownerID = try row.text(0)
    role = .init(rawValue: Int32(truncatingIfNeeded: try row.integer(1)))
    shareExpiresAtMs = try row.integerIfPresent(2)
    shareCount = try row.integer(3)
    isMuted = try row.bool(4)
    snoozedUntilMs = try row.integerIfPresent(5)
    quietHours =
      row.isNull(6)
      ? nil : try StoredJSON.message(QuietHours.self, row, 6, "quiet_hours_json")
  }

  /// The user's current role; an expired share grants none.
  func role(nowMs: Int64) -> BucketRole {
    if let shareExpiresAtMs, shareExpiresAtMs <= nowMs { return .unspecified }
    return role
  }

  /// Throws NOT_FOUND, naming `field`, if the share has expired, and PERMISSION_DENIED unless the user may publish.
  func requirePublisher(_ bucketID: String, field: String, nowMs: Int64) throws(RPCError) {
    let role = role(nowMs: nowMs)
    guard role != .unspecified else { throw RPCError.bucketNotFound(bucketID, field: field) }
    guard role.includes(.publisher) else { throw RPCError.roleMissing(.publisher, field: field) }
  }
}

extension BucketRole {
  /// Whether this role includes another one.
  func includes(_ other: BucketRole) -> Bool { rawValue >= other.rawValue }
}

extension UserSettings {
  /// Whether publishing must read the settings. The quiet hours of a bucket are also in the user's time zone.
  var concernsQuietHours: Bool { quietHours != nil || !timeZone.isEmpty }
}

/// The columns of a user's row that publishing needs.
struct UserState: Sendable, Hashable {
  static let selectSQL = """
    SELECT notification_count, has_quiet_hours, settings_json FROM users WHERE user_id = $1
    """

  static func query(_ user: String) -> SQLQuery { SQLQuery(selectSQL, [.text(user)]) }

  var notificationCount: Int64
  /// Nil unless the user has quiet hours or a time zone.
  var settings: UserSettings?

  /// - Parameter first: The number of the first column.
  init(_ row: borrowing SQLRow, at first: Int = 0) throws {
    notificationCount = try row.integer(first)
    guard try row.bool(first + 1), !row.isNull(first + 2) else { return }
    settings = try StoredJSON.message(UserSettings.self, row, first + 2, "settings_json")
  }
}

/// The users and buckets that publications have read, and the counts to add at the end of the transaction.
///
/// Transactions that follow one another continue with it, so that they need not read the same again.
struct PublishingContext {
  /// Age at which everything is read again, also because an operator may change rows by hand.
  private static let ageMsMax: Int64 = 1_000
  private static let usersMax = 1_000

  private struct BucketKey: Hashable {
    var user: String
    var bucketID: String
  }

  private(set) var nowMs: Int64
  private let createdMs: Int64
  let notificationsMax: Int
  /// The number of copies that this transaction may still create.
  private(set) var copiesLeft: Int
  private var users: [String: UserState?] = [:]
  private var buckets: [BucketKey: BucketState?] = [:]
  private var members: [String: [String]] = [:]
  private var added: [BucketKey: CountChange] = [:]

  init(nowMs: Int64, limits: NotificationsLimits) {
    self.nowMs = nowMs
    createdMs = nowMs
    notificationsMax = limits.notificationsPerUserMax
    copiesLeft = limits.copiesPerCallMax
  }

  /// Prepares the context for the next call in the same transaction.
  mutating func renew(nowMs: Int64, limits: NotificationsLimits) {
    self.nowMs = nowMs
    copiesLeft = limits.copiesPerCallMax
  }

  /// Whether a transaction may continue with the context of the one before.
  func isKept(nowMs: Int64) -> Bool {
    (createdMs...createdMs + Self.ageMsMax).contains(nowMs) && users.count <= Self.usersMax
      && buckets.count <= Self.usersMax && members.isEmpty
  }

  /// Whether the answer to `BucketState.query` is known.
  func knows(_ query: SQLQuery) -> Bool {
    guard case .text(let user)? = query.arguments.first, case .text(let bucketID)? = query.arguments.last,
      query.sql == BucketState.selectSQL
    else { return false }
    return buckets[BucketKey(user: user, bucketID: bucketID)] != nil
  }

  mutating func user(_ id: String, _ transaction: WriteTransaction) throws -> UserState? {
    if let known = users[id] { return known }
    let state = try transaction.queryOne(UserState.query(id)) { try UserState($0) }
    users[id] = .some(state)
    return state
  }

  mutating func bucket(_ id: String, of user: String, _ transaction: WriteTransaction) throws -> BucketState? {
    let key = BucketKey(user: user, bucketID: id)
    if let known = buckets[key] { return known }
    let state = try transaction.queryOne(BucketState.query(id, of: user)) { row in
      if users[user] == nil { users[user] = .some(row.isNull(7) ? nil : try UserState(row, at: 7)) }
      return try BucketState(row)
    }
    buckets[key] = .some(state)
    return state
  }

  /// Returns a bucket into which the user may publish. Throws NOT_FOUND or PERMISSION_DENIED, naming `field`.
  mutating func publisherBucket(
    _ id: String, of user: String, field: String = "notification.bucketId", _ transaction: WriteTransaction
  ) throws -> BucketState {
    guard let bucket = try bucket(id, of: user, transaction) else { throw RPCError.bucketNotFound(id, field: field) }
    try bucket.requirePublisher(id, field: field, nowMs: nowMs)
    return bucket
  }

  /// The members of a bucket without its owner, ordered by id.
  mutating func members(of bucketID: String, owner: String, _ transaction: WriteTransaction) throws -> [String] {
    if let known = members[bucketID] { return known }
    let found = try transaction.query(BucketState.membersSQL, [.text(bucketID), .text(owner)]) { try $0.text(0) }
    members[bucketID] = found.sorted()
    return members[bucketID] ?? []
  }

  /// Whether the user may store one more notification. Copies for members (`isShared`) leave a tenth of the limit free
  /// for the user's own buckets.
  mutating func hasRoom(_ user: String, isShared: Bool = false, _ transaction: WriteTransaction) throws -> Bool {
    guard let state = try self.user(user, transaction) else { return false }
    let added = added.reduce(0) { $0 + ($1.key.user == user ? $1.value.notifications : 0) }
    let max = isShared ? notificationsMax - notificationsMax / 10 : notificationsMax
    return state.notificationCount + added < Int64(max)
  }

  /// Consumes one of the copies that the transaction may create. Returns false if none is left.
  mutating func takeCopy() -> Bool {
    guard copiesLeft > 0 else { return false }
    copiesLeft -= 1
    return true
  }

  mutating func add(_ change: CountChange, to bucketID: String, of user: String) {
    added[BucketKey(user: user, bucketID: bucketID), default: CountChange()] += change
  }

  /// Writes the counts, at the end of the transaction.
  mutating func finish(_ transaction: WriteTransaction) throws {
    defer { added = [:] }
    for (user, keys) in Dictionary(grouping: added, by: { $0.key.user }) {
      let changes = keys.map { ($0.key.bucketID, $0.value) }
      try transaction.addCounts(Dictionary(uniqueKeysWithValues: changes), user: user)
      users[user]??.notificationCount += changes.reduce(0) { $0 + $1.1.notifications }
    }
  }
}
