import CampanileAPI
import CampanileRPC

/// Keeps buckets, notifications, their counts and the log of their changes.
///
/// Every function serves one user and sees nothing of the others: what belongs to another user throws NOT_FOUND, like what
/// does not exist. Arguments are checked before (see Domain/). A change, its counts and its log entry are one
/// transaction, durable when the function returns. Failures are `RPCError`s.
protocol NotificationsRepository: Sendable {
  /// Throws RESOURCE_EXHAUSTED, reason `BUCKETS_EXHAUSTED`, and FAILED_PRECONDITION, reason `REQUEST_ID_REUSED`.
  func createBucket(_ draft: Bucket, user: String, repeatable: RepeatableRequest?) async throws -> Bucket
  func bucket(_ id: String, user: String) throws -> Bucket
  /// At most one more than the page's size, so that the caller knows whether there is another page.
  func buckets(_ query: BucketQuery) throws -> [Bucket]
  /// Throws ABORTED, reason `ETAG_MISMATCH`, when `change.etag` is set and not the current one.
  func updateBucket(_ change: Bucket, fields: [BucketField], user: String) async throws -> Bucket
  /// Returns how many notifications went with it. Throws as `updateBucket`.
  func deleteBucket(_ id: String, etag: String, user: String) async throws -> Int

  /// Throws NOT_FOUND for the bucket, RESOURCE_EXHAUSTED, reason `NOTIFICATIONS_EXHAUSTED`, and as `createBucket`.
  func createNotification(
    _ draft: Notification, user: String, repeatable: RepeatableRequest?
  ) async throws -> Notification
  /// All in one commit. The result of each entry is its notification or why it was refused; throws only when
  /// nothing was kept at all.
  func createNotifications(_ entries: [NewNotification], user: String) async throws -> [Result<Notification, RPCError>]
  func notification(_ id: String, user: String) throws -> Notification
  /// At most one more than the page's size.
  func notifications(_ query: NotificationQuery) throws -> [Notification]
  func updateNotification(_ change: Notification, fields: [NotificationField], user: String) async throws
    -> Notification
  /// Marks all or, when one does not exist, none.
  func mark(_ ids: [String], isRead: Bool, user: String) async throws -> (changed: Int, counts: UnreadCounts)
  func deleteNotifications(_ ids: [String], user: String) async throws -> (deleted: Int, counts: UnreadCounts)
  func unreadCounts(user: String) throws -> UnreadCounts

  /// Where a new watch begins. Throws INVALID_ARGUMENT for a token that is none of this user's, OUT_OF_RANGE, reason
  /// `TOKEN_TOO_OLD`, and NOT_FOUND for the bucket.
  func watchStart(resumeToken: String, bucketID: String?, user: String) throws -> ResumeToken
  /// The user's changes after a token, oldest first. Throws OUT_OF_RANGE, reason `TOKEN_TOO_OLD`.
  func changes(after token: ResumeToken, user: String, rowsMax: Int) throws -> [Change]
}
