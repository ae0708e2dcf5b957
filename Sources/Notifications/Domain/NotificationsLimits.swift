/// What a user may store and ask for. Each is documented with its error where it is checked.
public struct NotificationsLimits: Sendable, Hashable {
  /// RESOURCE_EXHAUSTED `TOO_MANY_BUCKETS`.
  public var bucketsPerUserMax = 1000
  /// RESOURCE_EXHAUSTED `TOO_MANY_NOTIFICATIONS`, per bucket.
  public var notificationsPerBucketMax = 1_000_000
  /// Changes kept for watches to resume from; older ones are TOKEN_TOO_OLD.
  public var changesMax = 1_000_000
  public var changeAgeMsMax: Int64 = 7 * 24 * 3600 * 1000

  public static let titleCharactersMax = 256
  public static let subtitleCharactersMax = 256
  public static let bodyBytesMax = 16 * 1024
  public static let attachmentsMax = 16
  public static let actionsMax = 16
  public static let urlCharactersMax = 2048
  public static let requestIDCharactersMax = 64
  public static let pageSizeDefault = 50
  public static let pageSizeMax = 1000
  public static let batchMax = 1000

  public init() {}
}
