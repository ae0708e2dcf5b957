import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

/// The table `calendar_feeds`.
enum FeedTable {
  static let insertSQL = """
    INSERT INTO calendar_feeds (id, owner, name, secret_hash, created_at_ms) VALUES ($1, $2, $3, $4, $5)
    """
  static let ofOwnerSQL = """
    SELECT id, name, created_at_ms FROM calendar_feeds WHERE owner = $1 AND id > $2 ORDER BY id LIMIT $3
    """
  static let countSQL = "SELECT count(*) FROM calendar_feeds WHERE owner = $1"
  static let ownerSQL = "SELECT owner FROM calendar_feeds WHERE id = $1"
  static let deleteSQL = "DELETE FROM calendar_feeds WHERE id = $1"
  static let deleteOfOwnerSQL = "DELETE FROM calendar_feeds WHERE owner = $1"
  static let bySecretSQL = "SELECT owner FROM calendar_feeds WHERE secret_hash = $1"

  static func feed(_ row: borrowing SQLRow) throws -> CalendarFeed {
    CalendarFeed(
      id: try row.text(0), name: try row.text(1), createTime: ProtoTimestamp(millisecondsSince1970: try row.integer(2)))
  }
}

extension SQLiteAttendanceRepository {
  static let feedPrefix: StaticString = "f_"
  /// The maximum number of meetings in one calendar.
  static let calendarMeetingsMax = 2_000

  func createFeed(
    name: String, secretHash: [UInt8], by caller: AttendanceCaller, idempotency: IdempotentRequest?
  ) async throws -> (feed: CalendarFeed, isNew: Bool) {
    try await change(by: caller) { context in
      if let feed = try storedReply(CreateCalendarFeedResponse.self, idempotency, context.transaction)?.feed {
        return (feed, false)
      }
      guard try context.number(FeedTable.countSQL, [.text(caller.name)]) < limits.feedsPerOwnerMax else {
        throw RPCError.exhausted(
          "a caller may have at most \(limits.feedsPerOwnerMax) feeds", .feedsExhausted, limit: limits.feedsPerOwnerMax)
      }
      let feed = CalendarFeed(id: ids.next(prefix: Self.feedPrefix).id, name: name, createTime: context.nowTime)
      try context.transaction.execute(
        FeedTable.insertSQL,
        [.text(feed.id), .text(caller.name), .text(name), .blob(secretHash), .integer(context.nowMs)])
      // The secret is never stored.
      try storeReply(CreateCalendarFeedResponse(feed: feed), idempotency, context.transaction)
      return (feed, true)
    }
  }

  func feeds(of owner: String, _ query: PositionQuery) async throws -> [CalendarFeed] {
    try await readSingle { transaction in
      try transaction.query(
        FeedTable.ofOwnerSQL, [.text(owner), .text(query.position.first ?? ""), .int(query.pageSize + 1)],
        FeedTable.feed)
    }
  }

  func deleteFeed(_ id: String, by caller: AttendanceCaller) async throws {
    try await change(by: caller) { context in
      let owner = try context.transaction.queryOne(FeedTable.ownerSQL, [.text(id)]) { try $0.text(0) }
      // Report another caller's feed as missing.
      guard let owner, owner == caller.name || caller.role.includes(.admin) else {
        throw RPCError.missing("calendar feed", id, field: "feedId", .feedNotFound)
      }
      try context.transaction.execute(FeedTable.deleteSQL, [.text(id)])
    }
  }

  func calendarMeetings(secretHash: [UInt8], sinceMs: Int64) async throws -> [Meeting] {
    try await read { transaction in
      let owner = try transaction.queryOne(FeedTable.bySecretSQL, [.blob(secretHash)]) { try $0.text(0) }
      guard let owner else { throw RPCError.missing("calendar", "", field: "secret", .feedNotFound) }
      if let number = AttendanceIDs.member(owner) {
        let member = try transaction.queryOne(MemberRow.oneSQL, [.integer(number)], MemberRow.member)
        guard member?.active == true else { throw RPCError.missing("calendar", "", field: "secret", .feedNotFound) }
      }
      return try transaction.query(
        MeetingRow.calendarSQL, [.integer(sinceMs), .int(Self.calendarMeetingsMax)], MeetingRow.meeting)
    }
  }
}
