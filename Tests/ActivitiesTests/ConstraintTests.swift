import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import ServiceTesting
import Testing

@testable import Activities

/// Every request is checked as a whole: one error names all fields that violate a constraint of the contract or a rule.
@Suite struct ConstraintTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// The fields with their reasons, in order.
    var violations: [String]
    var call: @Sendable (ActivitiesComponent) async throws -> Void

    init(
      _ name: String, _ violations: [String], _ call: @escaping @Sendable (ActivitiesComponent) async throws -> Void
    ) {
      (testDescription, self.violations, self.call) = (name, violations, call)
    }
  }

  private static func long(_ count: Int) -> String { String(repeating: "x", count: count) }

  /// An alert whose texts violate their constraints.
  private static let badAlert = Alert(
    title: long(1_001), body: "b", titleLocKey: long(1_001), titleLocArgs: Array(repeating: "x", count: 21),
    locKey: long(1_001), locArgs: ["x", long(1_001)], sound: Sound(name: "\u{0}"))
  private static let alertViolations = [
    "alert.title TOO_LONG", "alert.titleLocKey TOO_LONG", "alert.titleLocArgs TOO_MANY", "alert.locKey TOO_LONG",
    "alert.locArgs[1] TOO_LONG", "alert.sound.name TEXT_INVALID",
  ]

  private static let starts: [Row] = [
    Row(
      "StartActivity",
      [
        "activityId ID_INVALID", "app REQUIRED", "environment REQUIRED", "origin ENUM_UNSPECIFIED",
        "contentStateJson REQUIRED", "attributesType TOO_LONG",
      ] + alertViolations + [
        "installationId ID_INVALID", "relevanceScore OUT_OF_RANGE", "channelId CHANNEL_INVALID", "requestId TOO_LONG",
      ]
    ) {
      _ = try await $0.activities.startActivity(
        .init(
          activityId: "a/b", attributesType: long(257), alert: badAlert, installationId: long(129),
          relevanceScore: 1e9.nextUp, channelId: long(129), requestId: long(65)), context: admin)
    },
    Row("a bundle id with an empty part", ["app APP_INVALID", "environment ENVIRONMENT_UNKNOWN"]) {
      var request = try local()
      (request.app, request.environment) = ("com..example", "staging")
      _ = try await $0.activities.startActivity(request, context: anna)
    },
    Row(
      "JoinRoom",
      [
        "app APP_INVALID", "environment REQUIRED", "roomId ROOM_ID_INVALID", "activityId ID_INVALID",
        "origin ENUM_UNKNOWN", "waitingLimit OUT_OF_RANGE", "attributesType TOO_LONG", "installationId ID_INVALID",
        "relevanceScore OUT_OF_RANGE", "requestId TOO_LONG", "attributesJson JSON_INVALID",
      ]
    ) {
      _ = try await $0.rooms.joinRoom(
        .init(
          app: long(156), roomId: String(repeating: "F", count: 48), activityId: "ä", origin: .unrecognized(9),
          waitingLimit: .init(seconds: 28_801), attributesType: long(257), attributesJson: "[]", installationId: "i i",
          relevanceScore: -1, requestId: long(65)), context: anna)
    },
    Row(
      "StartTimer",
      [
        "activityId ID_INVALID", "app APP_INVALID", "environment REQUIRED", "origin ENUM_UNSPECIFIED",
        "methodName TOO_LONG", "sessionType ENUM_UNKNOWN", "duration OUT_OF_RANGE", "attributesType TOO_LONG",
        "installationId ID_INVALID", "requestId TOO_LONG",
      ]
    ) {
      _ = try await $0.timers.startTimer(
        .init(
          activityId: long(129), app: "not an app", methodName: long(101), sessionType: .unrecognized(9),
          duration: .init(milliseconds: 999),
          attributesType: long(257), installationId: "i i", requestId: long(65)), context: anna)
    },
    Row("a timer without an end", ["duration REQUIRED", "completesByItself REQUIRED"]) {
      _ = try await $0.timers.startTimer(
        .init(
          app: app, environment: "sandbox", origin: .local, sessionType: .single, completesByItself: true),
        context: anna)
    },
    Row("a timer that is too long", ["duration OUT_OF_RANGE"]) {
      _ = try await $0.timers.startTimer(
        .init(
          app: app, environment: "sandbox", origin: .local, sessionType: .freestyle,
          duration: .init(milliseconds: 28_800_001)),
        context: anna)
    },
    Row(
      "StartUnreadActivity",
      [
        "activityId ID_INVALID", "app REQUIRED", "environment REQUIRED", "origin ENUM_UNSPECIFIED",
        "itemsMax OUT_OF_RANGE", "attributesType TOO_LONG", "installationId ID_INVALID", "requestId TOO_LONG",
      ]
    ) {
      _ = try await $0.unread.startUnreadActivity(
        .init(
          activityId: "a/b", itemsMax: 6, attributesType: long(257), installationId: "i i", requestId: long(65)),
        context: anna)
    },
  ]

  private static let changes: [Row] = [
    Row(
      "UpdateActivity",
      ["activityId REQUIRED"] + alertViolations + [
        "relevanceScore OUT_OF_RANGE", "urgency ENUM_UNKNOWN", "requestId TOO_LONG",
      ]
    ) {
      _ = try await $0.activities.updateActivity(
        .init(alert: badAlert, relevanceScore: -.infinity, urgency: .unrecognized(7), requestId: long(65)),
        context: anna)
    },
    Row("an update without a change", ["activityId REQUIRED", "contentStateJson REQUIRED"]) {
      _ = try await $0.activities.updateActivity(.init(), context: anna)
    },
    Row("BatchUpdateActivities without entries", ["requests REQUIRED"]) {
      _ = try await $0.activities.batchUpdateActivities(.init(), context: anna)
    },
    Row("BatchUpdateActivities with 1001 entries", ["requests TOO_MANY"]) {
      _ = try await $0.activities.batchUpdateActivities(
        .init(requests: Array(repeating: .init(), count: 1_001)), context: anna)
    },
    Row("EndActivity", ["activityId REQUIRED"] + alertViolations) {
      _ = try await $0.activities.endActivity(.init(alert: badAlert), context: anna)
    },
    Row("ReportPeer", ["app REQUIRED", "roomId ROOM_ID_INVALID"]) {
      _ = try await $0.rooms.reportPeer(.init(roomId: "0"), context: anna)
    },
    Row("LeaveRoom", ["roomId ROOM_ID_INVALID", "app APP_INVALID"]) {
      _ = try await $0.rooms.leaveRoom(.init(app: "."), context: anna)
    },
    Row("DisconnectRooms", ["app REQUIRED"]) { _ = try await $0.rooms.disconnectRooms(.init(), context: anna) },
    Row(
      "RegisterPushToken",
      [
        "kind ENUM_UNKNOWN", "token REQUIRED", "app REQUIRED", "environment REQUIRED", "installationId ID_INVALID",
        "activityId ID_INVALID", "attributesType TOO_LONG", "activityId FIELD_NOT_ALLOWED",
        "attributesType FIELD_NOT_ALLOWED",
      ]
    ) {
      _ = try await $0.tokens.registerPushToken(
        .init(kind: .unrecognized(9), installationId: "i i", activityId: "a/b", attributesType: long(257)),
        context: anna)
    },
  ]

  private static let operations: [Row] = [
    Row("PutUnreadSummary", ["userId REQUIRED", "summary.notifications TOO_MANY", "sequence OUT_OF_RANGE"]) {
      _ = try await $0.unread.putUnreadSummary(
        .init(summary: .init(notifications: Array(repeating: .init(), count: 101))), context: program)
    },
    Row("PutUnreadSummary without a summary", ["userId TOO_LONG", "summary REQUIRED", "sequence OUT_OF_RANGE"]) {
      _ = try await $0.unread.putUnreadSummary(.init(userId: long(129), sequence: -1), context: program)
    },
    Row(
      "SendAlert",
      ["userId REQUIRED", "alertId TOO_LONG", "notificationId TOO_LONG", "app APP_INVALID"] + alertViolations + [
        "subtitle TOO_LONG", "badge OUT_OF_RANGE", "category TOO_LONG", "threadId TOO_LONG",
        "interruptionLevel ENUM_UNKNOWN", "collapseId TOO_LONG", "urgency ENUM_UNKNOWN", "dataJson JSON_INVALID",
      ]
    ) {
      _ = try await $0.unread.sendAlert(
        .init(
          alertId: long(129), notificationId: long(129), app: "a b", alert: badAlert, subtitle: long(1_001), badge: -1,
          category: long(129), threadId: long(129), interruptionLevel: .unrecognized(9),
          dataJson: "x", collapseId: String(repeating: "ä", count: 33), urgency: .unrecognized(9)), context: program)
    },
    Row(
      "a critical alert without a critical sound",
      ["alert.sound.name REQUIRED", "alert.sound.volume OUT_OF_RANGE", "alert.sound.volume FIELD_NOT_ALLOWED"]
        + ["alert.sound.critical REQUIRED"]
    ) {
      _ = try await $0.unread.sendAlert(
        .init(
          userId: "anna", alertId: "n1", alert: .init(title: "t", sound: .init(volume: 1.5)),
          interruptionLevel: .critical), context: program)
    },
    Row("SendAlert without ids", ["userId REQUIRED", "alertId REQUIRED"]) {
      _ = try await $0.unread.sendAlert(.init(), context: program)
    },
    Row("GetPush", ["apnsId REQUIRED"]) { _ = try await $0.pushes.getPush(.init(), context: admin) },
    Row(
      "ListPushes", ["userId TOO_LONG", "activityId TOO_LONG", "pageSize OUT_OF_RANGE", "activityId FIELD_NOT_ALLOWED"]
    ) {
      _ = try await $0.pushes.listPushes(
        .init(userId: long(129), activityId: long(129), pageSize: -1), context: admin)
    },
    Row("ReplayDeadLetters", ["apnsIds[1] REQUIRED", "apnsIds[2] TOO_LONG"]) {
      _ = try await $0.pushes.replayDeadLetters(.init(apnsIds: ["x", "", long(129)]), context: admin)
    },
    Row("ReplayDeadLetters without ids", ["apnsIds REQUIRED"]) {
      _ = try await $0.pushes.replayDeadLetters(.init(), context: admin)
    },
    Row("DeleteDeadLetters", ["apnsIds TOO_MANY"]) {
      _ = try await $0.pushes.deleteDeadLetters(.init(apnsIds: Array(repeating: "x", count: 1_001)), context: admin)
    },
    Row("ListPushStatistics", ["app APP_INVALID", "endTime TIME_RANGE_EMPTY"]) {
      let time = ProtoTimestamp(millisecondsSince1970: Fixture.startMs)
      _ = try await $0.pushes.listPushStatistics(
        .init(app: long(193), startTime: time, endTime: time), context: admin)
    },
    Row("CreateBroadcastChannel", ["app APP_INVALID", "storagePolicy ENUM_UNKNOWN", "environment ENVIRONMENT_UNKNOWN"])
    {
      _ = try await $0.channels.createBroadcastChannel(
        .init(app: "a b", environment: "staging", storagePolicy: .unrecognized(9)), context: admin)
    },
    Row("ListBroadcastChannels", ["environment REQUIRED", "app APP_INVALID"]) {
      _ = try await $0.channels.listBroadcastChannels(.init(app: "com..example"), context: admin)
    },
    Row(
      "DeleteBroadcastChannel", ["app REQUIRED", "environment REQUIRED", "channelId CHANNEL_INVALID"]
    ) {
      _ = try await $0.channels.deleteBroadcastChannel(.init(channelId: "no base64!"), context: admin)
    },
    Row(
      "SendBroadcast",
      [
        "app REQUIRED", "environment REQUIRED", "channelId CHANNEL_INVALID", "payloadJson REQUIRED",
        "urgency ENUM_UNKNOWN", "requestId TOO_LONG",
      ]
    ) {
      _ = try await $0.channels.sendBroadcast(
        .init(channelId: long(129), urgency: .unrecognized(7), requestId: long(65)), context: admin)
    },
    Row(
      "PutSigningKey",
      [
        "key.teamId ID_INVALID", "key.keyId ID_INVALID", "key.environments TOO_MANY", "key.apps TOO_MANY",
        "key.apps[0] ID_INVALID", "privateKeyPem SIGNING_KEY_INVALID",
      ]
    ) {
      let many = Array(repeating: "production", count: 1_000)
      _ = try await $0.signing.putSigningKey(
        .init(key: .init(teamId: "lower12345", environments: many + ["sandbox"], apps: ["a..*"] + many)), context: admin
      )
    },
    Row("PutSigningKey without a key", ["key REQUIRED", "privateKeyPem SIGNING_KEY_INVALID"]) {
      _ = try await $0.signing.putSigningKey(.init(), context: admin)
    },
  ]

  private static let debugging: [Row] = [
    Row("GetActivityStatus", ["userId REQUIRED", "app REQUIRED"]) {
      _ = try await $0.debugging.getActivityStatus(.init(), context: admin)
    },
    Row("TestStart", ["userId TOO_LONG", "environment REQUIRED", "origin ENUM_UNSPECIFIED", "app APP_INVALID"]) {
      _ = try await $0.debugging.testStart(.init(userId: long(129), app: "a."), context: admin)
    },
    Row("TestToConnected", ["userId REQUIRED", "app REQUIRED"]) {
      _ = try await $0.debugging.testToConnected(.init(), context: admin)
    },
    Row("TestToWaiting", ["userId REQUIRED", "app REQUIRED"]) {
      _ = try await $0.debugging.testToWaiting(.init(), context: admin)
    },
    Row("TestEnd", ["userId REQUIRED", "app REQUIRED"]) {
      _ = try await $0.debugging.testEnd(.init(), context: admin)
    },
    Row("EndAllActivities", ["userId TEXT_INVALID"]) {
      _ = try await $0.debugging.endAllActivities(.init(userId: "a\u{0}"), context: admin)
    },
  ]

  @Test(arguments: starts + changes + operations + debugging)
  func errorNamesEveryInvalidField(_ row: Row) async throws {
    let component = try await Fixture().open()
    let error = await failure { try await row.call(component) }
    #expect(error?.code == .invalidArgument)
    #expect(error?.fieldViolations.map { "\($0.field) \($0.reason)" } == row.violations)
    #expect(try component.queued().isEmpty)
    await component.close()
  }

  @Test func entriesOfABatchAreJudgedOneByOne() async throws {
    let component = try await Fixture().open()
    _ = try await component.start(local("a"), anna)
    let bad = UpdateActivityRequest(activityId: "a", contentStateJson: "1", urgency: .unrecognized(7))
    let results = try await component.activities.batchUpdateActivities(
      .init(requests: [update("a", "{}"), bad]), context: anna
    ).results
    guard case .receipt? = results.first?.outcome, case .error(let error)? = results.last?.outcome else {
      Issue.record("the valid entry must succeed and the other fail: \(results)")
      return
    }
    // All of the entry's violations are reported.
    #expect(
      error.violations.map { "\($0.field) \($0.reason)" } == [
        "requests[1].urgency ENUM_UNKNOWN", "requests[1].contentStateJson JSON_INVALID",
      ])
    #expect(error.code == 3 && error.reason == "FIELDS_INVALID")
    await component.close()
  }
}
