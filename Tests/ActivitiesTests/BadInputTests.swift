import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import Testing

@testable import Activities

/// Invalid requests are rejected with a status, the field, and a reason.
@Suite struct BadInputTests {
  private struct Refusal: Hashable {
    var code: RPCError.Code
    var field: String
    var reason: String
  }

  private static func refusal(_ error: RPCError?) -> Refusal? {
    error.flatMap { error in
      error.fieldViolations.first.map { Refusal(code: error.code, field: $0.field, reason: $0.reason) }
    }
  }

  private static func start(_ component: ActivitiesComponent, _ change: (inout StartActivityRequest) throws -> Void)
    async throws -> [Refusal]
  {
    var request = try remote("x")
    try change(&request)
    let error = await failure { try await component.start(request, anna) }
    return error?.fieldViolations.map { Refusal(code: error?.code ?? .unknown, field: $0.field, reason: $0.reason) }
      ?? []
  }

  @Test func startsAreValidated() async throws {
    let component = try await Fixture().open()
    try await component.register(token(.pushToStart, hex(1)), anna)
    func expect(_ field: String, _ reason: String, _ refusals: [Refusal]) {
      #expect(refusals == [Refusal(code: .invalidArgument, field: field, reason: reason)])
    }
    expect("environment", "ENVIRONMENT_UNKNOWN", try await Self.start(component) { $0.environment = "staging" })
    expect("environment", "REQUIRED", try await Self.start(component) { $0.environment = "" })
    expect("app", "APP_INVALID", try await Self.start(component) { $0.app = "not an app" })
    let unsigned = try await Self.start(component) { $0.app = "com.example.unsigned" }
    #expect(unsigned == [Refusal(code: .failedPrecondition, field: "app", reason: "SIGNING_KEY_MISSING")])
    expect("attributesJson", "REQUIRED", try await Self.start(component) { $0.attributesJson = "" })
    expect("attributesType", "REQUIRED", try await Self.start(component) { $0.attributesType = "" })
    expect("alert", "REQUIRED", try await Self.start(component) { $0.alert = nil })
    expect("alert", "REQUIRED", try await Self.start(component) { $0.alert?.body = "" })
    expect("contentStateJson", "REQUIRED", try await Self.start(component) { $0.contentStateJson = "" })
    for json in ["5", "[]", "{", #"{"a":1,"a":1}"#, "{} {}"] {
      expect("contentStateJson", "JSON_INVALID", try await Self.start(component) { $0.contentStateJson = json })
    }
    expect("origin", "ENUM_UNSPECIFIED", try await Self.start(component) { $0.origin = .unspecified })
    expect("origin", "ENUM_UNKNOWN", try await Self.start(component) { $0.origin = .unrecognized(9) })
    expect("activityId", "ID_INVALID", try await Self.start(component) { $0.activityId = "a/b" })
    expect("relevanceScore", "OUT_OF_RANGE", try await Self.start(component) { $0.relevanceScore = .nan })
    expect(
      "startTime", "TIME_PAST",
      try await Self.start(component) { $0.startTime = ProtoTimestamp(millisecondsSince1970: Fixture.startMs) })
    expect(
      "endTime", "OUT_OF_RANGE",
      try await Self.start(component) {
        $0.endTime = ProtoTimestamp(millisecondsSince1970: Fixture.startMs + 8 * 3_600_000 + 1)
      })
    expect("groupId", "ID_INVALID", try await Self.start(component) { $0.groupId = "a b" })
    let several = try await Self.start(component) { ($0.attributesJson, $0.alert, $0.app) = ("", nil, "") }
    #expect(several.map(\.field) == ["app", "attributesJson", "alert"])
    #expect(try component.queued().isEmpty)
    await component.close()
  }

  @Test func oversizedPayloadReportsExcessBytes() async throws {
    let component = try await Fixture().open()
    _ = try await component.start(local("a"), anna)
    // {"aps":{"timestamp":1770000001,"event":"update","content-state":{"s":"…"}}}
    let overhead = #"{"aps":{"timestamp":1770000001,"event":"update","content-state":{"s":""}}}"#.utf8.count
    let fits = String(repeating: "x", count: 4_096 - overhead)
    _ = try await component.update("a", #"{"s":"\#(fits)"}"#, anna)
    let error = await failure { try await component.update("a", #"{"s":"\#(fits)xyz"}"#, anna) }
    #expect(
      Self.refusal(error) == Refusal(code: .invalidArgument, field: "contentStateJson", reason: "PAYLOAD_TOO_LARGE"))
    #expect(error?.errorMetadata["excessBytes"] == "3" && error?.message.contains("3 more than 4096") == true)
    // Attributes and alert count towards the limit.
    try await component.register(token(.pushToStart, hex(1)), anna)
    var request = try remote("b", state: #"{"s":"\#(fits)"}"#)
    let start = await failure { try await component.start(request, anna) }
    #expect(start?.reason == "PAYLOAD_TOO_LARGE")
    request.origin = .local
    #expect(await failure { try await component.start(request, anna) }?.reason == "PAYLOAD_TOO_LARGE")
    await component.close()
  }

  @Test func alertNeedsATitleOrABody() throws {
    func draft(_ alert: Alert) throws -> String {
      let request = SendAlertRequest(userId: "anna", alertId: "n:1", alert: alert)
      return String(decoding: try AlertDraft(request, traceParent: nil, nowMs: 1).payload, as: UTF8.self)
    }
    let title = Alert(title: "Door")
    #expect(try draft(title) == #"{"aps":{"alert":{"title":"Door"}}}"#)
    let body = Alert(body: "open")
    #expect(try draft(body) == #"{"aps":{"alert":{"body":"open"}}}"#)
    let empty = Alert(sound: Sound(name: "default"))
    let error = #expect(throws: RPCError.self) { try draft(empty) }
    #expect(Self.refusal(error) == Refusal(code: .invalidArgument, field: "alert", reason: "REQUIRED"))
  }

  @Test func updatesAndEndsAreValidated() async throws {
    let component = try await Fixture().open()
    _ = try await component.start(local("a"), anna)
    func refused(_ change: (inout UpdateActivityRequest) -> Void) async throws -> Refusal? {
      var request = try update("a", "{}")
      change(&request)
      return Self.refusal(
        await failure { try await component.activities.updateActivity(request, context: anna) })
    }
    #expect(
      try await refused { $0.contentStateJson = "" }
        == Refusal(code: .invalidArgument, field: "contentStateJson", reason: "REQUIRED"))
    #expect(
      try await refused { $0.activityId = "" }
        == Refusal(code: .invalidArgument, field: "activityId", reason: "REQUIRED"))
    #expect(
      try await refused { $0.etag = "v7" } == Refusal(code: .aborted, field: "etag", reason: "ETAG_MISMATCH"))
    #expect(
      try await refused { $0.urgency = .unrecognized(7) }
        == Refusal(code: .invalidArgument, field: "urgency", reason: "ENUM_UNKNOWN"))
    let end = EndActivityRequest(
      activityId: "a", dismissalTime: ProtoTimestamp(millisecondsSince1970: Fixture.startMs + 5 * 3_600_000))
    let late = await failure { try await component.activities.endActivity(end, context: anna) }
    #expect(Self.refusal(late) == Refusal(code: .invalidArgument, field: "dismissalTime", reason: "OUT_OF_RANGE"))
    _ = try await component.end("a", anna)
    #expect(
      try await refused { _ in }
        == Refusal(code: .failedPrecondition, field: "activityId", reason: "ACTIVITY_ENDED"))
    await component.close()
  }

  @Test func tokensAreValidated() async throws {
    let component = try await Fixture().open()
    _ = try await component.start(local("a"), anna)
    func refused(_ change: (inout RegisterPushTokenRequest) -> Void) async -> Refusal? {
      var request = token(.device, hex(1))
      change(&request)
      let asked = request
      return Self.refusal(await failure { try await component.register(asked, anna) })
    }
    func invalid(_ field: String, _ reason: String) -> Refusal {
      Refusal(code: .invalidArgument, field: field, reason: reason)
    }
    #expect(await refused { $0.token = "xyz" } == invalid("token", "TOKEN_INVALID"))
    #expect(await refused { $0.token = "abc" } == invalid("token", "TOKEN_INVALID"))
    #expect(
      await refused { $0.token = String(repeating: "ab", count: 201) } == invalid("token", "TOKEN_INVALID"))
    #expect(await refused { $0.token = "" } == invalid("token", "REQUIRED"))
    #expect(await refused { $0.environment = "beta" } == invalid("environment", "ENVIRONMENT_UNKNOWN"))
    #expect(await refused { $0.kind = .unspecified } == invalid("kind", "ENUM_UNSPECIFIED"))
    #expect(await refused { $0.kind = .activityUpdate } == invalid("activityId", "REQUIRED"))
    #expect(await refused { $0.activityId = "a" } == invalid("activityId", "FIELD_NOT_ALLOWED"))
    #expect(await refused { $0.attributesType = "T" } == invalid("attributesType", "FIELD_NOT_ALLOWED"))
    #expect(
      await refused { ($0.kind, $0.activityId, $0.app) = (.activityUpdate, "a", "com.example.other") }
        == invalid("app", "APP_MISMATCH"))
    // With a token on another device it stays in its environment.
    try await component.register(token(.activityUpdate, hex(5), activity: "a", installation: "pad"), anna)
    #expect(
      await refused { ($0.kind, $0.activityId, $0.environment) = (.activityUpdate, "a", "production") }
        == invalid("environment", "ENVIRONMENT_MISMATCH"))
    #expect(await refused { ($0.kind, $0.token) = (.channel, "no base64!") } == invalid("token", "TOKEN_INVALID"))
    await component.close()
  }

  @Test func limitsAreEnforcedWithTheirReasons() async throws {
    var limits = ActivitiesLimits()
    (limits.activitiesPerUserMax, limits.tokensPerUserMax, limits.devicesPerActivityMax) = (2, 3, 2)
    let component = try await Fixture(limits).open()
    _ = try await component.start(local("a"), anna)
    _ = try await component.start(local("b"), anna)
    let third = await failure { try await component.start(local("c"), anna) }
    #expect(third?.code == .resourceExhausted && third?.reason == "ACTIVITIES_EXHAUSTED")
    _ = try await component.end("b", anna)
    _ = try await component.start(local("c"), anna)
    for number in 1...2 {
      try await component.register(
        token(.activityUpdate, hex(number), activity: "a", installation: "i\(number)"), anna)
    }
    let devices = await failure {
      try await component.register(token(.activityUpdate, hex(3), activity: "a", installation: "i3"), anna)
    }
    #expect(devices?.reason == "TOKENS_EXHAUSTED" && devices?.errorMetadata["limit"] == "2")
    try await component.register(token(.device, hex(4)), anna)
    let tokens = await failure { try await component.register(token(.pushToStart, hex(5)), anna) }
    #expect(tokens?.reason == "TOKENS_EXHAUSTED" && tokens?.errorMetadata["limit"] == "3")
    await component.close()
  }
}
