import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import ServiceTesting
import Testing

@testable import Activities

/// The table of errors in docs/activities.md, row by row: status, field and reason.
@Suite struct BadInputTableTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var code: RPCError.Code
    var field: String
    var reason: String
    var excess: String?
    var call: @Sendable (ActivitiesComponent) async throws -> Void

    init(
      _ name: String, _ code: RPCError.Code, _ field: String, _ reason: String, excess: String? = nil,
      _ call: @escaping @Sendable (ActivitiesComponent) async throws -> Void
    ) {
      (testDescription, self.code, self.field, self.reason) = (name, code, field, reason)
      (self.excess, self.call) = (excess, call)
    }
  }

  /// A state whose payload has 4,096 bytes and 5 more.
  private static var tooLarge: String {
    let overhead = #"{"aps":{"timestamp":1770000001,"event":"update","content-state":{"s":""}}}"#.utf8.count
    return #"{"s":"\#(String(repeating: "x", count: 4_101 - overhead))"}"#
  }

  private static func started(
    _ component: ActivitiesComponent, _ change: (inout StartActivityRequest) throws -> Void
  ) async throws {
    var request = try remote("new")
    try change(&request)
    _ = try await component.start(request, anna)
  }

  private static func registered(
    _ component: ActivitiesComponent, _ change: (inout RegisterPushTokenRequest) -> Void
  ) async throws {
    var request = token(.device, hex(7))
    change(&request)
    try await component.register(request, anna)
  }

  private static func updated(
    _ component: ActivitiesComponent, _ id: String = "a", _ state: String = "{}",
    _ change: (inout UpdateActivityRequest) -> Void = { _ in }
  ) async throws {
    var request = try update(id, state)
    change(&request)
    _ = try await component.activities.updateActivity(request, context: anna)
  }

  static let rows: [Row] = [
    Row("a payload over 4,096 bytes", .invalidArgument, "contentStateJson", "PAYLOAD_TOO_LARGE", excess: "5") {
      try await updated($0, "a", tooLarge)
    },
    Row("an odd number of digits", .invalidArgument, "token", "TOKEN_INVALID") {
      try await registered($0) { $0.token = "abc" }
    },
    Row("a token that is not hexadecimal", .invalidArgument, "token", "TOKEN_INVALID") {
      try await registered($0) { $0.token = "<80a1 ffee>" }
    },
    Row("an unknown environment of a token", .invalidArgument, "environment", "ENVIRONMENT_UNKNOWN") {
      try await registered($0) { $0.environment = "staging" }
    },
    Row("an unknown environment of a start", .invalidArgument, "environment", "ENVIRONMENT_UNKNOWN") {
      try await started($0) { $0.environment = "staging" }
    },
    Row("a topic without a key", .failedPrecondition, "app", "SIGNING_KEY_MISSING") {
      try await started($0) { $0.app = "com.example.unsigned" }
    },
    Row("a state that is not a JSON object", .invalidArgument, "contentStateJson", "JSON_INVALID") {
      try await updated($0) { $0.contentStateJson = "[1]" }
    },
    Row("attributes with a name twice", .invalidArgument, "attributesJson", "JSON_INVALID") {
      try await started($0) { $0.attributesJson = #"{"a":1,"a":2}"# }
    },
    Row("a stale time that is also cleared", .invalidArgument, "clearStaleTime", "FIELD_NOT_ALLOWED") {
      try await updated($0) {
        ($0.staleTime, $0.clearStaleTime) = (ProtoTimestamp(millisecondsSince1970: Fixture.startMs), true)
      }
    },
    Row("a score that is also cleared", .invalidArgument, "clearRelevanceScore", "FIELD_NOT_ALLOWED") {
      try await updated($0) { ($0.relevanceScore, $0.clearRelevanceScore) = (1, true) }
    },
    Row("a critical sound of an activity", .invalidArgument, "alert.sound.critical", "FIELD_NOT_ALLOWED") {
      try await updated($0) {
        $0.alert = alert()
        $0.alert?.sound = Sound(name: "default", critical: true)
      }
    },
    Row("a volume of a sound that is not critical", .invalidArgument, "alert.sound.volume", "FIELD_NOT_ALLOWED") {
      try await updated($0) {
        $0.alert = alert()
        $0.alert?.sound = Sound(name: "default", volume: 0.5)
      }
    },
    Row("an update after the end", .failedPrecondition, "activityId", "ACTIVITY_ENDED") {
      try await updated($0, "ended")
    },
    Row("an update of another user's activity", .notFound, "activityId", "ACTIVITY_NOT_FOUND") {
      try await updated($0, "bruno.s")
    },
    Row("a missing activity", .notFound, "activityId", "ACTIVITY_NOT_FOUND") { try await updated($0, "none") },
    Row("the end of another user's activity", .notFound, "activityId", "ACTIVITY_NOT_FOUND") {
      _ = try await $0.end("bruno.s", anna)
    },
    Row("reading another user's activity", .notFound, "activityId", "ACTIVITY_NOT_FOUND") {
      _ = try await $0.get("bruno.s", anna)
    },
    Row("a remote start without attributes", .invalidArgument, "attributesJson", "REQUIRED") {
      try await started($0) { $0.attributesJson = "" }
    },
    Row("a remote start without an attributes type", .invalidArgument, "attributesType", "REQUIRED") {
      try await started($0) { $0.attributesType = "" }
    },
    Row("a remote start without an alert", .invalidArgument, "alert", "REQUIRED") {
      try await started($0) { $0.alert = nil }
    },
    Row("a remote start without a token", .failedPrecondition, "app", "PUSH_TO_START_TOKEN_MISSING") {
      try await started($0) { _ in }
    },
    Row("another user's token", .alreadyExists, "token", "TOKEN_TAKEN") {
      try await registered($0) { $0.token = hex(9) }
    },
    Row("an etag that is not the current one", .aborted, "etag", "ETAG_MISMATCH") {
      try await updated($0) { $0.etag = "v9" }
    },
  ]

  @Test(arguments: rows) func requestIsRejectedWithFieldAndReason(_ row: Row) async throws {
    let component = try await Fixture().open()
    _ = try await component.start(local("a"), anna)
    _ = try await component.start(local("ended"), anna)
    _ = try await component.end("ended", anna)
    _ = try await component.start(local("bruno.s"), bruno)
    try await component.register(token(.device, hex(9)), bruno)
    let error = await failure { try await row.call(component) }
    #expect(error?.code == row.code && error?.reason == row.reason)
    #expect(error?.fieldViolations.map(\.field) == [row.field])
    #expect(error?.fieldViolations.map(\.reason) == [row.reason])
    if let excess = row.excess {
      #expect(error?.errorMetadata["excessBytes"] == excess && error?.message.contains("\(excess) more than") == true)
    }
    // The rejected request had no effect.
    #expect(try await component.get("a", anna).etag == "v1")
    #expect(try component.queued().isEmpty)
    await component.close()
  }
}
