import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// What publishing needs to know of one user's row of a bucket.
struct BucketState: Sendable, Hashable {
  static let selectSQL = """
    SELECT owner_id, role, share_expires_at_ms, share_count, is_muted, snoozed_until_ms, quiet_hours_json
    FROM buckets WHERE user_id = $1 AND id = $2 AND deleted_at_ms IS NULL
    """
  static let membersSQL = "SELECT user_id FROM buckets WHERE id = $1 AND owner_id = $2 AND owner_id <> ''"

  /// The owner; empty in the owner's own row.
  var ownerID: String
  var role: BucketRole
  var shareExpiresAtMs: Int64?
  /// Members beside the owner; known in the owner's row.
  var shareCount: Int64
  var isMuted: Bool
  var snoozedUntilMs: Int64?
  /// The bucket's own quiet hours; nil means the user's.
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

  /// What its user may do with it now: a share that has ended gives nothing.
  func role(nowMs: Int64) -> BucketRole {
    if let shareExpiresAtMs, shareExpiresAtMs <= nowMs { return .unspecified }
    return role
  }

  /// Throws NOT_FOUND of `field` when the share has ended, and PERMISSION_DENIED unless its user may publish.
  func requirePublisher(_ bucketID: String, field: String, nowMs: Int64) throws(RPCError) {
    let role = role(nowMs: nowMs)
    guard role != .unspecified else { throw RPCError.bucketNotFound(bucketID, field: field) }
    guard role.includes(.publisher) else { throw RPCError.roleMissing(.publisher, field: field) }
  }
}

extension BucketRole {
  /// Whether it includes another role.
  func includes(_ other: BucketRole) -> Bool { rawValue >= other.rawValue }
}

extension UserSettings {
  /// Whether publishing must read them. A bucket's own quiet hours are in the user's time zone, too.
  var concernsQuietHours: Bool { quietHours != nil || !timeZone.isEmpty }
}

/// What publishing needs to know of a user.
struct UserState: Sendable, Hashable {
  static let selectSQL = """
    SELECT notification_count, has_quiet_hours, settings_json FROM users WHERE user_id = $1
    """

  var notificationCount: Int64
  /// Absent unless the user has quiet hours.
  var settings: UserSettings?

  init(_ row: borrowing SQLRow) throws {
    notificationCount = try row.integer(0)
    guard try row.bool(1), !row.isNull(2) else { return }
    settings = try StoredJSON.message(UserSettings.self, row, 2, "settings_json")
  }
}

/// What one transaction knows of users and buckets while it publishes, and what it adds to their counts at its end.
struct PublishingContext {
  private struct Place: Hashable {
    var user: String
    var bucketID: String
  }

  private(set) var nowMs: Int64
  let notificationsMax: Int
  /// Copies that this transaction may still make.
  private(set) var copiesLeft: Int
  private var users: [String: UserState?] = [:]
  private var buckets: [Place: BucketState?] = [:]
  private var members: [String: [String]] = [:]
  private var added: [Place: CountChange] = [:]

  init(nowMs: Int64, limits: NotificationsLimits) {
    self.nowMs = nowMs
    notificationsMax = limits.notificationsPerUserMax
    copiesLeft = limits.copiesPerCallMax
  }

  /// For the next call in the same transaction.
  mutating func renew(nowMs: Int64, limits: NotificationsLimits) {
    self.nowMs = nowMs
    copiesLeft = limits.copiesPerCallMax
  }

  mutating func user(_ id: String, _ transaction: WriteTransaction) throws -> UserState? {
    if let known = users[id] { return known }
    let state = try transaction.queryOne(UserState.selectSQL, [.text(id)], UserState.init)
    users[id] = .some(state)
    return state
  }

  mutating func bucket(_ id: String, of user: String, _ transaction: WriteTransaction) throws -> BucketState? {
    let place = Place(user: user, bucketID: id)
    if let known = buckets[place] { return known }
    let state = try transaction.queryOne(BucketState.selectSQL, [.text(user), .text(id)]) { try BucketState($0) }
    buckets[place] = .some(state)
    return state
  }

  /// A bucket that the user may publish into; throws NOT_FOUND or PERMISSION_DENIED of `field`.
  mutating func publisherBucket(
    _ id: String, of user: String, field: String = "notification.bucketId", _ transaction: WriteTransaction
  ) throws -> BucketState {
    guard let bucket = try bucket(id, of: user, transaction) else { throw RPCError.bucketNotFound(id, field: field) }
    try bucket.requirePublisher(id, field: field, nowMs: nowMs)
    return bucket
  }

  /// The members of a bucket beside its owner, in the order of their ids.
  mutating func members(of bucketID: String, owner: String, _ transaction: WriteTransaction) throws -> [String] {
    if let known = members[bucketID] { return known }
    let found = try transaction.query(BucketState.membersSQL, [.text(bucketID), .text(owner)]) { try $0.text(0) }
    members[bucketID] = found.sorted()
    return members[bucketID] ?? []
  }

  /// Whether the user may keep one more notification.
  mutating func hasRoom(_ user: String, _ transaction: WriteTransaction) throws -> Bool {
    guard let state = try self.user(user, transaction) else { return false }
    let added = added.reduce(0) { $0 + ($1.key.user == user ? $1.value.notifications : 0) }
    return state.notificationCount + added < Int64(notificationsMax)
  }

  /// Takes one of the copies that the transaction may make; false when there is none.
  mutating func takeCopy() -> Bool {
    guard copiesLeft > 0 else { return false }
    copiesLeft -= 1
    return true
  }

  mutating func add(_ change: CountChange, to bucketID: String, of user: String) {
    added[Place(user: user, bucketID: bucketID), default: CountChange()] += change
  }

  /// Writes the counts. Call it once, at the end of the transaction.
  func finish(_ transaction: WriteTransaction) throws {
    for (user, places) in Dictionary(grouping: added, by: { $0.key.user }) {
      let changes = places.map { ($0.key.bucketID, $0.value) }
      try transaction.addCounts(Dictionary(uniqueKeysWithValues: changes), user: user)
    }
  }
}
