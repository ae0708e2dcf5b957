import CampanileAPI
import CampanileRPC
import CampanileService

/// Keeps buckets, notifications, their counts and the log of their changes.
///
/// Every function serves one user and sees nothing of the others: what belongs to another user throws NOT_FOUND, like what
/// does not exist. Arguments are checked before (see Domain/). A change, its counts, its timers, its ledger and its log
/// entry are one transaction, durable when the function returns. Failures are `RPCError`s. Lists answer at most one more
/// than the page's size, so that the caller knows whether there is another page.
protocol NotificationsRepository: BucketsRepository, SharesRepository, Sendable {
  /// The wall clock in milliseconds since 1970.
  var clockMs: @Sendable () -> Int64 { get }

  /// Publishes at once, or keeps the notification for its `deliver_time`. Throws NOT_FOUND for the bucket,
  /// PERMISSION_DENIED for a reader of it, RESOURCE_EXHAUSTED, and as `createBucket`.
  func createNotification(
    _ draft: NotificationDraft, user: String, repeatable: RepeatableRequest?
  ) async throws -> Notification
  /// All in one commit. The result of each entry is its notification or why it was refused; throws only when
  /// nothing was kept at all.
  func createNotifications(_ entries: [NewNotification], user: String) async throws -> [Result<Notification, RPCError>]
  func notification(_ id: String, user: String) throws -> Notification
  func notifications(_ query: NotificationQuery) throws -> [Notification]
  /// Throws ABORTED, reason `ETAG_MISMATCH`, PERMISSION_DENIED below publisher, and FAILED_PRECONDITION, reason
  /// `BUCKET_SHARED`, for a move from or to a shared bucket.
  func updateNotification(
    _ change: Notification, contents: [InlineContent], fields: [NotificationField], user: String
  ) async throws -> Notification
  /// Marks all or, when one does not exist, none.
  func mark(_ ids: [String], isRead: Bool, user: String) async throws -> (changed: Int, counts: UnreadCounts)
  /// Marks what is there when it begins, in several commits.
  func markAllRead(bucketID: String?, user: String) async throws -> (changed: Int, counts: UnreadCounts)
  func deleteNotifications(_ ids: [String], user: String) async throws -> (deleted: Int, counts: UnreadCounts)
  func undeleteNotifications(_ ids: [String], user: String) async throws -> (restored: Int, counts: UnreadCounts)
  func deletedNotifications(_ query: PositionQuery) throws -> [Notification]
  /// Snoozes or postpones by some minutes.
  func setAside(_ id: String, minutes: Int64, state: DeliveryState, user: String) async throws -> Notification
  func scheduledNotifications(_ query: PositionQuery) throws -> [Notification]
  func cancelScheduled(_ id: String, user: String) async throws
  func unreadCounts(user: String) throws -> UnreadCounts
  func unreadSummary(user: String) throws -> UnreadSummary
  func content(_ contentID: String, of notificationID: String, user: String) throws -> [UInt8]
  func deliveries(of id: String, user: String) throws -> [DeliveryRecord]
  /// Adds to the ledger; answers how many records were new.
  func record(_ deliveries: [NotificationDelivery]) async throws -> Int
  func runs(_ query: PositionQuery, of notificationID: String?) throws -> [ActionRun]
  func settings(user: String) throws -> UserSettings
  /// Throws ABORTED, reason `ETAG_MISMATCH`.
  func updateSettings(_ change: UserSettings, fields: [SettingsField], user: String) async throws -> UserSettings
  /// Throws NOT_FOUND, naming `field`.
  func template(_ id: String, user: String, field: String) throws(RPCError) -> Template
  /// One page of what a search finds, newest first. Throws NOT_FOUND for the bucket, and UNAVAILABLE, reason
  /// `SEARCH_INDEX_BEHIND`, while the index lacks too much of the user's.
  func search(_ query: SearchPageQuery) async throws -> SearchPage

  /// Where a new watch begins. Throws INVALID_ARGUMENT for a token that is none of this user's, OUT_OF_RANGE, reason
  /// `TOKEN_TOO_OLD`, and NOT_FOUND for the bucket.
  func watchStart(resumeToken: String, bucketID: String?, user: String) throws -> ResumeToken
  /// The user's changes after a token, oldest first. Throws OUT_OF_RANGE, reason `TOKEN_TOO_OLD`.
  func changes(after token: ResumeToken, user: String, rowsMax: Int) throws -> [Change]
}

/// Keeps buckets, as `NotificationsRepository` says.
protocol BucketsRepository {
  /// Throws RESOURCE_EXHAUSTED, reason `BUCKETS_EXHAUSTED`, and FAILED_PRECONDITION, reason `REQUEST_ID_REUSED`.
  func createBucket(_ draft: Bucket, user: String, repeatable: RepeatableRequest?) async throws -> Bucket
  func bucket(_ id: String, user: String) throws -> Bucket
  func buckets(_ query: BucketQuery) throws -> [Bucket]
  /// Throws ABORTED, reason `ETAG_MISMATCH`, when `change.etag` is set and not the current one, and PERMISSION_DENIED for
  /// what members below admin may not change.
  func updateBucket(_ change: Bucket, fields: [BucketField], user: String) async throws -> Bucket
  /// Holds what is published for some minutes; 0 ends it.
  func snoozeBucket(_ id: String, minutes: Int64, field: String, user: String) async throws -> Bucket
  /// Returns how many notifications of the user went with it. Throws as `updateBucket`.
  func deleteBucket(_ id: String, etag: String, user: String) async throws -> Int
  /// Throws ABORTED, reason `BUCKET_BUSY`, while it is still being deleted.
  func undeleteBucket(_ id: String, user: String) async throws -> Bucket
}

/// Keeps shares and publish keys. Below the role that a call needs: PERMISSION_DENIED, reason `ROLE_MISSING`.
protocol SharesRepository {
  func share(_ id: String, _ share: BucketShare, by user: String) async throws -> BucketShare
  func unshare(_ id: String, from member: String, by user: String) async throws
  func shares(of id: String, by user: String) throws -> [BucketShare]
  func createPublishKey(
    _ key: PublishKey, secretHash: [UInt8], bucketID: String, by user: String
  ) async throws -> PublishKey
  func publishKeys(of bucketID: String, by user: String) throws -> [PublishKey]
  func revokePublishKey(_ id: String, of bucketID: String, by user: String) async throws
  /// Throws UNAUTHENTICATED for a secret that is not valid now.
  func publishTarget(secretHash: [UInt8]) throws -> (owner: String, bucketID: String)
}
