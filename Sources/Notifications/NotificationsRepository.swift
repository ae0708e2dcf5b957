import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// Stores buckets, notifications, their counts and their change log.
///
/// Every function serves one user. An object of another user throws NOT_FOUND, exactly like one that does not exist.
/// Callers check the arguments first (see Domain/).
///
/// A change, its counts, timers, delivery log and change log entry are written in one transaction, which is durable
/// when the function returns. All errors are `RPCError`s. Lists return at most one object more than the page size, so
/// that the caller knows whether there is another page. Lists of watched objects also return the token of the present,
/// taken in the same snapshot.
protocol NotificationsRepository: BucketsRepository, SharesRepository, InvitationsRepository, Sendable {
  /// The wall clock in milliseconds since 1970.
  var clockMs: @Sendable () -> Int64 { get }

  /// Returns the stored reply of a request that is not valid, or nil if there is none. A request becomes invalid when
  /// one of its times passes; its repetition still returns the first response.
  func reply<M: ProtoMessage>(_ type: M.Type, to request: IdempotentRequest?) async throws -> M?
  /// Publishes the notification now, or stores it until its `deliver_time`. Throws NOT_FOUND for the bucket,
  /// PERMISSION_DENIED for a reader of it, RESOURCE_EXHAUSTED, and the errors of `createBucket`.
  func createNotification(
    _ draft: NotificationDraft, user: String, idempotency: IdempotentRequest?
  ) async throws -> Notification
  /// Creates all entries in one commit. The result of each entry is its notification or its error. Throws only if
  /// nothing was stored.
  func createNotifications(_ entries: [NewNotification], user: String) async throws -> [Result<Notification, RPCError>]
  func notification(_ id: String, user: String) async throws -> Notification
  func notifications(
    _ query: NotificationQuery
  ) async throws -> (notifications: PageRows<Notification>, token: ResumeToken)
  /// Throws ABORTED, reason `ETAG_MISMATCH`; PERMISSION_DENIED below publisher; and FAILED_PRECONDITION, reason
  /// `BUCKET_SHARED`, for a move from or to a shared bucket.
  func updateNotification(
    _ change: Notification, contents: [InlineContent], fields: [NotificationField], user: String
  ) async throws -> Notification
  func mark(_ ids: [String], isRead: Bool, user: String) async throws -> BulkChange
  /// Marks the notifications whose ids are not after `last`, in several commits.
  func markAllRead(bucketID: String?, through last: String, user: String) async throws -> (
    changed: Int, counts: UnreadCounts
  )
  /// Throws ABORTED, reason `ETAG_MISMATCH`.
  func deleteNotification(_ id: String, etag: String, user: String) async throws -> UnreadCounts
  func deleteNotifications(_ ids: [String], user: String) async throws -> BulkChange
  /// Restores deleted notifications. Ids that exist are not missing.
  func undeleteNotifications(_ ids: [String], user: String) async throws -> BulkChange
  func deletedNotifications(_ query: PositionQuery) async throws -> PageRows<Notification>
  /// Snoozes or postpones a notification. A snooze until nil or a past time ends; postponing until then does nothing.
  func setAside(
    _ id: String, until release: ProtoTimestamp?, state: DeliveryState, user: String
  ) async throws -> Notification
  func postponedNotifications(_ query: PositionQuery) async throws -> PageRows<Notification>
  /// Throws NOT_FOUND if the notification is not postponed, and ABORTED, reason `ETAG_MISMATCH`.
  func cancelPostponement(_ id: String, etag: String, user: String) async throws -> Notification
  func scheduledNotifications(_ query: PositionQuery) async throws -> PageRows<Notification>
  /// Throws ABORTED, reason `ETAG_MISMATCH`.
  func cancelScheduled(_ id: String, etag: String, user: String) async throws
  func unreadCounts(user: String) async throws -> UnreadCounts
  func unreadSummary(user: String) async throws -> UnreadSummary
  func content(_ contentID: String, of notificationID: String, user: String) async throws -> [UInt8]
  /// Returns the delivery log of a notification, oldest first. The position of `query` is that of `DeliveryKey`.
  func deliveries(of id: String, _ query: PositionQuery) async throws -> [DeliveryRecord]
  /// Returns users by id, for operators. The position of `query` is the id of a user.
  func users(_ query: PositionQuery, prefix: String) async throws -> [NotificationUser]
  /// Appends to the delivery log and returns the number of new records.
  func record(_ deliveries: [NotificationDelivery]) async throws -> Int
  func runs(_ query: PositionQuery, of notificationID: String?) async throws -> PageRows<ActionRun>
  func settings(user: String) async throws -> UserSettings
  /// Throws ABORTED, reason `ETAG_MISMATCH`.
  func updateSettings(_ change: UserSettings, fields: [SettingsField], user: String) async throws -> UserSettings
  /// Throws NOT_FOUND, naming `field`.
  func template(_ id: String, user: String, field: String) async throws(RPCError) -> Template
  /// Returns one page of matches, newest first. Throws NOT_FOUND for the bucket, and UNAVAILABLE, reason
  /// `SEARCH_INDEX_BEHIND`, while too many notifications of the user are not indexed yet.
  func search(_ query: SearchPageQuery) async throws -> SearchPage

  /// Returns the position where a new watch begins. Throws INVALID_ARGUMENT for a token that is not valid for this
  /// user, OUT_OF_RANGE, reason `TOKEN_TOO_OLD`, and NOT_FOUND for the bucket.
  func watchStart(resumeToken: String, bucketID: String?, user: String) async throws -> ResumeToken
  /// Returns the user's changes after a token, oldest first. Throws OUT_OF_RANGE, reason `TOKEN_TOO_OLD`.
  func changes(after token: ResumeToken, user: String, rowsMax: Int) async throws -> [LoggedChange]
  /// Returns one page of changes. Throws the errors of `watchStart`.
  func changes(_ query: ChangesQuery) async throws -> ChangesPage
}

/// Stores buckets, under the rules of `NotificationsRepository`.
protocol BucketsRepository {
  /// Throws RESOURCE_EXHAUSTED, reason `BUCKETS_EXHAUSTED`, and FAILED_PRECONDITION, reason `REQUEST_ID_REUSED`.
  func createBucket(_ draft: Bucket, user: String, idempotency: IdempotentRequest?) async throws -> Bucket
  func bucket(_ id: String, user: String) async throws -> Bucket
  func buckets(_ query: BucketQuery) async throws -> (buckets: PageRows<Bucket>, token: ResumeToken)
  /// Changes the bucket of all members. Throws ABORTED, reason `ETAG_MISMATCH`, if `change.etag` is set and is not the
  /// current one, and PERMISSION_DENIED below admin.
  func updateBucket(_ change: Bucket, fields: [BucketField], user: String) async throws -> Bucket
  /// Changes the user's own settings. Throws ABORTED, reason `ETAG_MISMATCH`.
  func updateBucketSettings(
    _ change: BucketSettings, fields: [BucketSettingsField], user: String
  ) async throws -> BucketSettings
  /// Returns the number of the user's notifications deleted with the bucket. Throws the errors of `updateBucket`.
  func deleteBucket(_ id: String, etag: String, user: String) async throws -> Int
  /// Throws ABORTED, reason `BUCKET_BUSY`, while the bucket is still being deleted.
  func undeleteBucket(_ id: String, user: String) async throws -> Bucket
}

/// Stores shares and publish keys. Without the role that a call requires, throws PERMISSION_DENIED, reason
/// `ROLE_MISSING`.
protocol SharesRepository {
  /// Changes a member's share. Invites any other user, with the errors of `invite`.
  func share(_ id: String, _ share: BucketShare, by user: String) async throws -> ShareOutcome
  func unshare(_ id: String, from member: String, by user: String) async throws
  /// Returns the shares of a bucket. The position of `query` is the id of a user.
  func shares(of id: String, _ query: PositionQuery) async throws -> [BucketShare]
  /// Stores a key. A repeated request returns the first key, and `isRepeated`.
  func createPublishKey(
    _ key: PublishKey, secretHash: [UInt8], bucketID: String, by user: String, idempotency: IdempotentRequest?
  ) async throws -> (key: PublishKey, isRepeated: Bool)
  /// Returns the keys of a bucket. The position of `query` is the id of a key.
  func publishKeys(of bucketID: String, _ query: PositionQuery) async throws -> [PublishKey]
  func revokePublishKey(_ id: String, of bucketID: String, by user: String) async throws
  /// Throws UNAUTHENTICATED if no valid key has this secret.
  func publishTarget(secretHash: [UInt8]) async throws -> (owner: String, bucketID: String)
}
