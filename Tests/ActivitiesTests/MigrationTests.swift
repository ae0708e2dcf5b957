import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileService
import CampanileStore
import ServiceTesting
import TestSupport
import Testing

@testable import Activities

/// A database of version 0.1.0 is opened, and its stored messages keep their values.
@Suite(.onSQLite) struct MigrationTests {
  private static let startTime = "2026-02-02T02:40:00Z"

  /// Writes the rows of an old database, as version 0.1.0 wrote them.
  private static func writeOldRows(_ fixture: Fixture) async throws {
    var configuration = StoreConfiguration(path: fixture.folder.file("activities.sqlite"))
    configuration.durability = .normal
    let old = Array(ActivitiesMigrations.all.prefix { $0.identifier != ActivitiesMigrations.contract.identifier })
    let store = try Store(configuration, migrations: old)
    _ = try await store.write { transaction in
      func activity(_ id: String, kind: Int64, subject: String = "", driver: String?) throws {
        try transaction.execute(
          """
          INSERT INTO activities (user_id, id, app, environment, status, origin, created_at_ms, updated_at_ms, start_ms,
            expire_ms, end_reason, aps_timestamp, renews, generation, channel_id, token_ids, version, driver_kind,
            driver_subject, driver_json, content_state)
          VALUES ('anna', $1, $2, 'development', 3, 1, $3, $3, $3, $4, 0, 1770000000, 0, 0, '', '', 1, $5, $6, $7,
            '{"n":0}')
          """,
          [
            .text(id), .text(app), .integer(Fixture.startMs), .integer(Fixture.startMs + 8 * 3_600_000),
            .integer(kind), .text(subject), .text(driver),
          ])
      }
      try activity("plain", kind: 0, driver: nil)
      try activity(
        "paused", kind: 1,
        driver: """
          {"startedAt":"\(startTime)","pausedAt":"2026-02-02T02:41:00Z","totalPausedMs":"1500","durationMs":"600500",\
          "methodName":"Run \\"A\\"","sessionType":"countdown","completesByItself":true}
          """)
      try activity("open", kind: 1, driver: #"{"startedAt":"\#(startTime)","sessionType":"countup"}"#)
      try activity("done", kind: 1, driver: #"{"startedAt":"\#(startTime)","sessionType":"completed"}"#)
      let room = String(repeating: "5e", count: 24)
      try activity(
        "room", kind: 2, subject: room,
        driver: #"{"roomId":"\#(room)","phase":"connected","lastUpdated":"\#(startTime)","waitingMinutesMax":30}"#)
      try activity(
        "quiet", kind: 2, subject: room,
        driver: #"{"roomId":"\#(room)","phase":"waiting","lastUpdated":"\#(startTime)"}"#
      )
      try activity("unread", kind: 3, driver: #"{"itemsMax":2,"sequence":"10"}"#)
      try transaction.execute(
        "INSERT INTO users (user_id, activity_count, token_count, compacted_through) VALUES ('anna', 7, 1, 0)")
      try transaction.execute(
        """
        INSERT INTO activity_starts (user_id, id, attributes_type, attributes, alert_json, installation_id)
        VALUES ('anna', 'plain', 'T', '{ "a":1}', '{"title":"t","body":"b","sound":"chime"}', '')
        """)
      try transaction.execute(
        """
        INSERT INTO scheduled_ends (user_id, id, request_json) VALUES ('anna', 'plain',
          '{"activityId":"plain","contentState":{ "final":1.0, "a":"\\u00e9" },"alert":{"title":"t","body":"b","sound":"chime"}}')
        """)
      try transaction.execute(
        "INSERT INTO timers (user_id, subject_id, kind, due_ms) VALUES ('anna', 'plain', 2, $1)",
        [.integer(Fixture.startMs + 1_000)])
      let summary =
        #"{"notifications":[{"id":"n1","title":"say \"createdAt\":","bucketId":"b","createdAt":"2026-02-02T02:39:00Z"}],"#
        + #""unreadCount":4,"lastUpdate":"2026-02-02T02:39:30Z"}"#
      try transaction.execute(
        "INSERT INTO unread_summaries (user_id, sequence, updated_at_ms, payload) VALUES ('anna', 10, 1, $1)",
        [.blob(Array(summary.utf8))])
      try transaction.execute(
        """
        INSERT INTO push_tokens (token_id, user_id, kind, app, environment, installation_id, subject, generation, token,
          token_time_ms, registered_at_ms, used_at_ms, state)
        VALUES ('p_1', 'anna', 1, $1, 'development', 'phone', '', 0, $2, 1, 1, $3, 1)
        """, [.text(app), .blob([0xAB, 0xCD, 0xEF]), .integer(Fixture.startMs)])
      try transaction.storeReply(
        Array(#"{"activity":{"contentState":{}}}"#.utf8),
        #require(
          try IdempotentRequest(
            StartActivityRequest(requestId: "old"), id: \.requestId, method: ActivitiesServiceMethods.startActivity,
            user: "anna")
        ).key, requestHash: [1], expiresAtMs: .max)
    }
    await store.close()
  }

  @Test func storedMessagesKeepTheirValues() async throws {
    let fixture = try Fixture()
    try await Self.writeOldRows(fixture)
    let component = try await fixture.open()
    func timer(_ id: String) async throws -> TimerState {
      guard case .timer(let state)? = try await component.get(id, anna).driver else { return TimerState() }
      return state
    }
    let start = ProtoTimestamp(millisecondsSince1970: Fixture.startMs)
    #expect(
      try await timer("paused")
        == TimerState(
          startTime: start, pauseTime: ProtoTimestamp(millisecondsSince1970: Fixture.startMs + 60_000),
          totalPaused: .init(milliseconds: 1_500), duration: .init(milliseconds: 600_500), methodName: #"Run "A""#,
          sessionType: .countdown, completesByItself: true))
    #expect(try await timer("open") == TimerState(startTime: start, totalPaused: .init(), sessionType: .countup))
    #expect(try await timer("done").sessionType == .unspecified)
    let room = try #require(try await component.get("room", anna).room)
    #expect(room.phase == .connected && room.phaseStartTime == start && room.waitingLimit == .init(seconds: 1_800))
    let quiet = try #require(try await component.get("quiet", anna).room)
    #expect(quiet.phase == .waiting && quiet.waitingLimit == nil)
    #expect(try await component.get("unread", anna).unread == UnreadState(itemsMax: 2, sequence: 10))
    // A timer goes on where it was paused.
    fixture.clock.advance(by: .seconds(90))
    let resumed = try await component.timers.resumeTimer(.init(activityId: "paused"), context: anna).activity
    #expect(resumed?.contentStateJson.contains(#""totalPausedDuration":31.5,"#) == true)
    await component.close()
  }

  @Test func alertsEndsSummariesAndTokensAreUsable() async throws {
    let fixture = try Fixture()
    try await Self.writeOldRows(fixture)
    let component = try await fixture.open()
    let alert = try component.store.readSingleBlocking { try StartRow.find(id: "plain", user: "anna", $0) }.alert
    #expect(alert?.sound == Sound(name: "chime"))
    try await component.register(token(.activityUpdate, hex(1), activity: "plain"), anna)
    fixture.clock.advance(by: .seconds(1))
    try await component.runDueTimers()
    let end = try #require(try component.queued().last)
    // SQLite's JSON functions drop the white space between the members.
    #expect(
      end.payload.contains(#""content-state":{"final":1.0,"a":"\u00e9"}"#) && end.payload.contains(#""sound":"chime""#))
    let start = StartUnreadActivityRequest(activityId: "u", app: app, environment: "development", origin: .local)
    let shown = try await component.unread.startUnreadActivity(start, context: anna).activity
    #expect(
      shown?.contentStateJson.contains(#""createdAt":791692740}],"unreadCount":4,"lastUpdate":791692770"#) == true)
    #expect(shown?.contentStateJson.contains(#""title":"say \"createdAt\":""#) == true)
    let device = try await component.tokens.getPushToken(.init(tokenId: "p_1"), context: anna).token
    #expect(device?.osVersion == nil && device?.frequentPushesEnabled == nil && device?.redactedToken.isEmpty == false)
    // A stored reply of the old version is not returned.
    var request = try local("new")
    request.requestId = "old"
    #expect(try await component.start(request, anna).id == "new")
    await component.close()
  }
}
