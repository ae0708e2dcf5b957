public import CampanileService

/// Limits per user and per call. Each limit has a documented error; the configuration sets them.
public struct ActivitiesLimits: ServiceLimits, Hashable {
  /// Live activities of one user. Exceeding it throws RESOURCE_EXHAUSTED, reason `ACTIVITIES_EXHAUSTED`.
  public var activitiesPerUserMax = 1_000
  /// Tokens of one user. Exceeding it throws RESOURCE_EXHAUSTED, reason `TOKENS_EXHAUSTED`.
  public var tokensPerUserMax = 1_000
  /// Devices that show one activity. Exceeding it throws RESOURCE_EXHAUSTED, reason `TOKENS_EXHAUSTED`.
  public var devicesPerActivityMax = 20
  public var batchEntriesMax = 1_000
  public var pageSizeMax = 1_000
  public var pageSizeDefault = 50
  /// Bytes of states after which a page ends.
  public var pageBytesMax = 2 << 20
  public var watchesPerUserMax = 100
  public var watchesMax = 10_000
  /// Changes that a watch reads from the log at once.
  public var watchPageRows = 64
  /// Time after which a token that was neither registered again nor pushed to is deleted.
  public var tokenIdleMsMax: Int64 = 90 * 24 * 3_600_000
  /// Time after its end at which an activity is deleted.
  public var endedAgeMsMax: Int64 = 7 * 24 * 3_600_000

  public init() {}
}
