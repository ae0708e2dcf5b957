public import CampanileService

/// What one user may keep and one call may ask for. Each limit has a documented error; the configuration sets them.
public struct NotificationsLimits: ServiceLimits, Hashable {
  /// Buckets of one user. One more: RESOURCE_EXHAUSTED, reason `BUCKETS_EXHAUSTED`.
  public var bucketsPerUserMax = 1_000
  /// Notifications of one user. One more: RESOURCE_EXHAUSTED, reason `NOTIFICATIONS_EXHAUSTED`.
  public var notificationsPerUserMax = 1_000_000
  /// Entries of a batch and ids of a mark or delete call. More: INVALID_ARGUMENT, reason `TOO_MANY`.
  public var batchEntriesMax = 1_000
  /// Objects on one page. A larger `page_size`: INVALID_ARGUMENT, reason `OUT_OF_RANGE`.
  public var pageSizeMax = 1_000
  /// The size of a page when the request says none.
  public var pageSizeDefault = 50
  /// Open watches of one user. One more: RESOURCE_EXHAUSTED, reason `WATCHES_EXHAUSTED`.
  public var watchesPerUserMax = 100
  /// Open watches of the whole service. One more: RESOURCE_EXHAUSTED, reason `WATCHES_EXHAUSTED`.
  public var watchesMax = 10_000
  /// Changes that a watch reads from the log at once.
  public var watchPageRows = 64
  /// Copies that one call may make, which is its notifications times the members of their buckets. More:
  /// RESOURCE_EXHAUSTED, reason `COPIES_EXHAUSTED`.
  public var copiesPerCallMax = 20_000
  /// Deleted notifications of one user that can be restored. What is deleted beyond is gone at once.
  public var deletedPerUserMax = 100_000
  /// Scheduled notifications of one user. One more: RESOURCE_EXHAUSTED, reason `SCHEDULED_EXHAUSTED`.
  public var scheduledPerUserMax = 10_000
  /// Members of one bucket beside its owner. One more: RESOURCE_EXHAUSTED, reason `SHARES_EXHAUSTED`.
  public var sharesPerBucketMax = 100
  /// Publish keys of one bucket. One more: RESOURCE_EXHAUSTED, reason `PUBLISH_KEYS_EXHAUSTED`.
  public var publishKeysPerBucketMax = 100
  /// Runs of actions of one user that are kept, the newest. An older one that is still to be tried again is given up.
  public var actionRunsPerUserMax = 1_000
  /// Notifications that one commit marks, deletes or restores on the way to more of them.
  public var rowsPerCommit = 1_000
  /// Notifications that leave with their bucket in one commit; a fuller bucket takes several.
  public var bucketDeletionRows = 2_000

  public init() {}
}
