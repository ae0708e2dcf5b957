/// What one user may keep and one call may ask for. Each limit has a documented error; the configuration sets them.
public struct NotificationsLimits: Sendable, Hashable {
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
  /// Notifications that leave with their bucket in one commit; a fuller bucket takes several.
  public var bucketDeletionRows = 2_000

  public init() {}
}

/// How long the change log remembers, which is how long a watch may be interrupted and still resume.
public struct ChangeRetention: Sendable, Hashable {
  /// Changes kept at most, of all users together.
  public var rowsMax: Int64 = 1_000_000
  /// Age after which a change is dropped.
  public var ageMaxMs: Int64 = 7 * 24 * 3_600 * 1_000
  /// Changes dropped in one commit, so that no write waits long behind it.
  public var batchRows = 1_000

  public init() {}
}
