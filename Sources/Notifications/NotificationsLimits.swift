public import CampanileService

/// Limits on stored objects per user and on single calls. Each limit has a documented error; the configuration sets
/// them.
public struct NotificationsLimits: ServiceLimits, Hashable {
  /// Buckets owned by one user. Above: RESOURCE_EXHAUSTED, reason `BUCKETS_EXHAUSTED`.
  public var bucketsPerUserMax = 1_000
  /// Notifications of one user. Above: RESOURCE_EXHAUSTED, reason `NOTIFICATIONS_EXHAUSTED`.
  public var notificationsPerUserMax = 1_000_000
  /// Entries of a batch, and ids of a mark or delete call. Above: INVALID_ARGUMENT, reason `TOO_MANY`.
  public var batchEntriesMax = 1_000
  /// Objects on one page. A larger `page_size` is cut down to it.
  public var pageSizeMax = 1_000
  /// The page size of a request that does not set one.
  public var pageSizeDefault = 50
  /// Open watches of one user. Above: RESOURCE_EXHAUSTED, reason `WATCHES_EXHAUSTED`.
  public var watchesPerUserMax = 100
  /// Open watches of the whole service; the last quarter is reserved for users without one (`SharedLimit`). Above:
  /// RESOURCE_EXHAUSTED, reason `WATCHES_EXHAUSTED`.
  public var watchesMax = 10_000
  /// Changes that a watch reads from the log in one query.
  public var watchPageRows = 64
  /// Copies created by one call: its notifications times the members of their buckets. Above: RESOURCE_EXHAUSTED,
  /// reason `COPIES_EXHAUSTED`.
  public var copiesPerCallMax = 20_000
  /// Deleted notifications of one user that can be restored. Beyond this limit, a deletion is final at once.
  public var deletedPerUserMax = 100_000
  /// Scheduled notifications of one user. Above: RESOURCE_EXHAUSTED, reason `SCHEDULED_EXHAUSTED`.
  public var scheduledPerUserMax = 10_000
  /// Members of one bucket, not counting its owner. Above: RESOURCE_EXHAUSTED, reason `SHARES_EXHAUSTED`.
  public var sharesPerBucketMax = 100
  /// Buckets shared with one user, not counting the user's own. Above: RESOURCE_EXHAUSTED, reason
  /// `SHARED_BUCKETS_EXHAUSTED`.
  public var sharedBucketsPerUserMax = 1_000
  /// Pending invitations of one bucket. Above this or one of the next three limits: RESOURCE_EXHAUSTED, reason
  /// `INVITATIONS_EXHAUSTED`.
  public var invitationsPerBucketMax = 100
  /// Invitations of one owner that are pending or ended within the last 30 days.
  public var invitationsPerOwnerMax = 1_000
  /// Invitations of one owner to one user, counted in the same way but without accepted ones.
  public var invitationsPerPairMax = 10
  /// Pending invitations received by one user.
  public var invitationsReceivedMax = 100
  /// Invite codes of one bucket. Above: RESOURCE_EXHAUSTED, reason `INVITE_CODES_EXHAUSTED`.
  public var inviteCodesPerBucketMax = 100
  /// Users blocked by one user. Above: RESOURCE_EXHAUSTED, reason `BLOCKED_USERS_EXHAUSTED`.
  public var blockedUsersPerUserMax = 1_000
  /// Publish keys of one bucket. Above: RESOURCE_EXHAUSTED, reason `PUBLISH_KEYS_EXHAUSTED`.
  public var publishKeysPerBucketMax = 100
  /// Retained action runs of one user, the newest ones. Older runs that still await a retry are abandoned.
  public var actionRunsPerUserMax = 1_000
  /// Notifications that one commit marks, deletes or restores. Larger operations take several commits.
  public var rowsPerCommit = 1_000
  /// Notifications that one commit deletes together with their bucket. A bucket with more takes several commits.
  public var bucketDeletionRows = 2_000

  public init() {}
}
