import CampanileService
import CampanileStore
import ServiceTesting
import Testing

@testable import Activities

/// No query of the service scans a whole table.
@Suite(.onSQLite) struct QueryPlanTests {
  static let queries: [(name: String, sql: String)] = [
    ("activity", ActivityRow.oneSQL), ("update", ActivityRow.updateSQL), ("life", ActivityRow.lifeSQL),
    ("tokens of an activity", ActivityRow.tokensSQL), ("start", StartRow.oneSQL),
    ("list", SQLiteActivitiesRepository.listSQL), ("list live", SQLiteActivitiesRepository.listLiveSQL),
    ("list of app", SQLiteActivitiesRepository.listOfAppSQL),
    ("list live of app", SQLiteActivitiesRepository.listLiveOfAppSQL),
    ("live", SQLiteActivitiesRepository.liveSQL), ("live count", SQLiteActivitiesRepository.liveCountSQL),
    ("token counts", SQLiteActivitiesRepository.tokenCountsSQL),
    ("driven", SQLiteActivitiesRepository.drivenSQL),
    ("driven subject", SQLiteActivitiesRepository.drivenOfSubjectSQL),
    ("unread", SQLiteActivitiesRepository.unreadSQL), ("summary", SQLiteActivitiesRepository.summarySQL),
    ("user", SQLiteActivitiesRepository.userSQL), ("end", SQLiteActivitiesRepository.endSQL),
    ("token", TokenRow.oneSQL), ("token to send", TokenRow.deliverySQL), ("place", TokenRow.placeSQL),
    ("value", TokenRow.valueSQL), ("tokens of an activity to read", TokenRow.liveOfActivitySQL),
    ("devices", CoalescingStateWriter.devicesSQL), ("group", SQLiteActivitiesRepository.groupSQL),
    ("stopped pushes", ActivityRow.pushesSQL), ("environment", ActivityRow.environmentSQL),
    ("reroute", PushTable.rerouteSQL),
    ("live tokens", TokenRow.liveSQL), ("live tokens of app", TokenRow.liveOfAppSQL),
    ("list tokens", SQLiteActivitiesRepository.listTokensSQL),
    ("list live tokens", SQLiteActivitiesRepository.listLiveTokensSQL),
    ("values", TokenRow.valuesSQL), ("set values", TokenRow.setValuesSQL),
    ("tokens of an installation", TokenRow.liveCountSQL),
    ("retire", TokenRow.retireSQL), ("use", TokenRow.useSQL),
    ("changes", ActivityChangeLog.ofUserSQL), ("last change", ChangeLogTable.lastSQL), ("due", TimerTable.dueSQL),
    ("take", TimerTable.takeSQL), ("next", TimerTable.nextSQL), ("retired", ActivityRetention.retiredSQL),
    ("idle", ActivityRetention.idleSQL), ("ended", ActivityRetention.endedSQL),
    ("users", ActivityUsers.listSQL), ("waiting payload", PushReading.waitingPayloadSQL),
    ("payload of a dead letter", PushReading.deadPayloadSQL),
  ]

  @Test(arguments: queries.map(\.name))
  func usesAnIndex(_ name: String) async throws {
    let component = try await Fixture().open()
    let sql = try #require(Self.queries.first { $0.name == name }).sql
    #expect(try component.store.fullScans(sql) == [], "\(name)")
    await component.close()
  }

  @Test("each list of pushes uses the index of its filter, and is not sorted")
  func pushFiltersUseTheirIndexes() async throws {
    let component = try await Fixture().open()
    for (sql, index) in [
      (PushReading.deliveryLogSQL, "sqlite_autoindex_push_ledger_1"),
      (PushReading.deliveryLogOfUserSQL, "push_ledger_user"),
      (PushReading.deliveryLogOfActivitySQL, "push_ledger_activity"),
      (PushReading.deliveryLogOfReasonSQL, "push_ledger_reason"),
      (PushReading.deliveryLogOfFailureSQL, "push_ledger_outcome"),
    ] {
      try component.store.expectPlan(of: sql, uses: index)
    }
    await component.close()
  }

  @Test func listsAreNotSorted() async throws {
    let component = try await Fixture().open()
    for sql in [
      SQLiteActivitiesRepository.listSQL, SQLiteActivitiesRepository.listLiveSQL, SQLiteActivitiesRepository.groupSQL,
    ] {
      #expect(try component.store.queryPlan(sql).allSatisfy { !$0.contains("TEMP B-TREE") })
    }
    await component.close()
  }

  @Test("a page of users with a prefix costs the same, however many users precede them")
  func usersBeforeThePrefixAreNotRead() async throws {
    let component = try await Fixture().open()
    let query = try PositionQuery(
      user: "", pageSize: 10, pageToken: "", scope: [], parts: 1, limits: ActivitiesLimits())
    try await component.store.expectOnlyRangeIsRead(
      by: ActivityUsers.listSQL, query.idRange(prefix: "b"),
      insertSQL: """
        INSERT INTO users (user_id, activity_count, token_count, compacted_through)
        VALUES ($1, 0, 0, 0)
        """)
    await component.close()
  }
}
