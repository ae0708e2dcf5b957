public import CampanileService

/// Limits of the lodge's stored objects and of single calls. Each has a documented error; the configuration sets them.
public struct AttendanceLimits: ServiceLimits, Hashable {
  /// The highest number of objects of a kind that any setting allows. Reads of all objects use it instead of the
  /// current limit.
  static let objectsCeiling = 20_000

  /// Members, including erased ones. One more: RESOURCE_EXHAUSTED, reason `MEMBERS_EXHAUSTED`.
  public var membersMax = 20_000
  /// Meetings. One more: RESOURCE_EXHAUSTED, reason `MEETINGS_EXHAUSTED`.
  public var meetingsMax = 20_000
  /// Completed meetings of one year. One more: RESOURCE_EXHAUSTED, reason `MEETINGS_EXHAUSTED`.
  public var completedPerYearMax = 1_000
  /// Entries of a call that records a meeting's attendance. The contract limits them.
  public var batchEntriesMax = 1_000
  /// Objects on one page. A larger `page_size` means this one.
  public var pageSizeMax = 1_000
  /// The page size if the request has none.
  public var pageSizeDefault = 50
  /// Open watches of one member. One more: RESOURCE_EXHAUSTED, reason `WATCHES_EXHAUSTED`.
  public var watchesPerUserMax = 100
  /// Open watches of the whole service; the last quarter is reserved for members without a watch (see `SharedLimit`).
  /// One more: RESOURCE_EXHAUSTED, reason `WATCHES_EXHAUSTED`.
  public var watchesMax = 10_000
  /// Sessions of one member. A further login ends the oldest session.
  public var sessionsPerMemberMax = 20
  /// Calendar feeds of one caller. One more: RESOURCE_EXHAUSTED, reason `FEEDS_EXHAUSTED`.
  public var feedsPerOwnerMax = 10
  /// Bytes of an imported file. More: an error of the file, reason `FILE_TOO_LARGE`.
  public var importBytesMax = 8 << 20
  /// Bytes of a line of an imported file. More: an error of the row, reason `LINE_TOO_LONG`.
  public var importLineBytesMax = 64 << 10
  /// Rows of an imported file. More: an error of the file, reason `TOO_MANY_ROWS`.
  public var importRowsMax = 100_000
  /// The retention of tombstones, for clients that catch up.
  public var tombstoneAgeMaxMs: Int64 = 400 * 24 * 3_600 * 1_000

  public init() {}
}

/// The lifetime of sessions.
public struct SessionLifetime: Sendable, Hashable {
  /// The time from the login or the last renewal until a session expires.
  public var idleMs: Int64 = 8 * 3_600 * 1_000
  /// The time from the login until a session ends, regardless of renewals.
  public var absoluteMs: Int64 = 30 * 24 * 3_600 * 1_000
  /// Whether members without a PIN log in with their name alone, as in the first app. Anyone who knows a name can then
  /// log in as that member: never enable this where strangers can connect.
  public var allowsNameOnly = false

  public init() {}
}
