import CampanileAPI
import CampanileRPC

/// Who repeats what: makes a change happen once for a request id of a user and a method.
struct RequestKey: Sendable {
  var method: String
  var requestID: String
  /// SHA-256 of the request without its id: the same id with another request is refused.
  var digest: [UInt8]
}

/// Which notifications a list shows; every part narrows it.
struct NotificationFilter: Sendable {
  var bucketID: String?
  var unreadOnly = false
  /// Ids in this half-open range; ids ascend with time.
  var idFrom: String?
  var idBefore: String?
}

/// One change as watches are told of it.
struct StoredChange: Sendable {
  var sequence: Int64
  var bucketID: String
  var event: WatchNotificationsResponse
}

/// Keeps buckets, notifications and the log of their changes. Every method is about one user's things only; what belongs to
/// another user is not found. Reads answer at once, on the caller's thread; writes return after the commit.
protocol NotificationsRepository: Sendable {
  func createBucket(_ bucket: Bucket, user: String, request: RequestKey?) async throws -> Bucket
  func bucket(_ id: String, user: String) throws -> Bucket?
  /// In the order of name and id, after the given pair.
  func buckets(user: String, after: (name: String, id: String)?, limit: Int) throws -> [Bucket]
  func updateBucket(_ change: Bucket, fields: Set<String>, user: String) async throws -> Bucket
  func deleteBucket(_ id: String, etag: String, user: String) async throws -> Int

  func create(_ notification: Notification, user: String, request: RequestKey?) async throws -> Notification
  /// One commit; an entry that fails leaves the others.
  func create(
    _ entries: [(notification: Notification, request: RequestKey?)], user: String
  ) async throws -> [Result<Notification, RPCError>]
  func notification(_ id: String, user: String) throws -> Notification?
  /// Newest first, after the given id.
  func notifications(_ filter: NotificationFilter, user: String, after: String?, limit: Int) throws -> [Notification]
  func update(_ change: Notification, fields: Set<String>, user: String) async throws -> Notification
  /// All or nothing: NOT_FOUND when one is missing. Answers how many changed.
  func setRead(_ isRead: Bool, ids: [String], user: String) async throws -> (changed: Int, counts: UnreadCounts)
  func delete(ids: [String], user: String) async throws -> (deleted: Int, counts: UnreadCounts)
  func unreadCounts(user: String) throws -> UnreadCounts

  /// Tells this database's change log from any other.
  var epoch: String { get }
  func lastSequence() throws -> Int64
  /// In order, after `sequence`. Throws OUT_OF_RANGE `TOKEN_TOO_OLD` when changes after it were compacted.
  func changes(user: String, after sequence: Int64, limit: Int) throws -> [StoredChange]
  /// Deletes what is beyond the limits, at most `batch` changes. Answers how many went.
  func compactChanges(batch: Int) async throws -> Int
}
