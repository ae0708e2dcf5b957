public import CampanileService

/// What the lodge may keep and one call may ask for. Each limit has a documented error; the configuration sets them.
public struct AttendanceLimits: ServiceLimits, Hashable {
  /// The most objects of a kind that any setting allows: what there is is read whole, whatever the limit is now.
  static let objectsCeiling = 20_000

  /// Members, those who were erased among them. One more: RESOURCE_EXHAUSTED, reason `MEMBERS_EXHAUSTED`.
  public var membersMax = 20_000
  /// Meetings. One more: RESOURCE_EXHAUSTED, reason `MEETINGS_EXHAUSTED`.
  public var meetingsMax = 20_000
  /// Completed meetings of one year. One more: RESOURCE_EXHAUSTED, reason `MEETINGS_EXHAUSTED`.
  public var completedPerYearMax = 1_000
  /// Entries of a batch. More: INVALID_ARGUMENT, reason `TOO_MANY`.
  public var batchEntriesMax = 1_000
  /// Objects on one page. A larger `page_size`: INVALID_ARGUMENT, reason `OUT_OF_RANGE`.
  public var pageSizeMax = 1_000
  /// The size of a page when the request says none.
  public var pageSizeDefault = 50
  /// Lines of one page of the summary, which is also its size when the request says none.
  public var summaryPageSizeMax = 10_000
  /// Open watches of one member. One more: RESOURCE_EXHAUSTED, reason `WATCHES_EXHAUSTED`.
  public var watchesPerUserMax = 100
  /// Open watches of the whole service. One more: RESOURCE_EXHAUSTED, reason `WATCHES_EXHAUSTED`.
  public var watchesMax = 10_000
  /// Sessions of one member: a login beyond them ends the oldest.
  public var sessionsPerMemberMax = 20
  /// Calendar feeds of one caller. One more: RESOURCE_EXHAUSTED, reason `FEEDS_EXHAUSTED`.
  public var feedsPerOwnerMax = 10
  /// Bytes of an imported file. More: an error of the file, reason `FILE_TOO_LARGE`.
  public var importBytesMax = 8 << 20
  /// Bytes of a line of an imported file. More: an error of the row, reason `LINE_TOO_LONG`.
  public var importLineBytesMax = 64 << 10
  /// Rows of an imported file. More: an error of the file, reason `TOO_MANY_ROWS`.
  public var importRowsMax = 100_000
  /// How long the news of a deletion is kept for those who catch up.
  public var tombstoneAgeMaxMs: Int64 = 400 * 24 * 3_600 * 1_000

  public init() {}
}

/// How long sessions last.
public struct SessionLifetime: Sendable, Hashable {
  /// From the login or the last renewal.
  public var idleMs: Int64 = 8 * 3_600 * 1_000
  /// From the login, whatever renews it.
  public var absoluteMs: Int64 = 30 * 24 * 3_600 * 1_000
  /// Whether members without a PIN log in by their name alone, as the first app did. Whoever knows a name is then its
  /// member: never leave it on where strangers can connect.
  public var allowsNameOnly = false

  public init() {}
}
