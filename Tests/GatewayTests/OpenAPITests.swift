import CampanileAPI
import CampanileCodec
import CampanileRPC
import Foundation
import Testing

@testable import GatewayHTTP

/// The parts of the OpenAPI document that no tool checks, and the methods that paths report.
@Suite struct OpenAPITests {
  static let table = HTTPTable(methods: allMethods, descriptorSet: DescriptorSet.serializedBytes)

  /// The methods of some services of each package.
  private static let allMethods =
    NotificationsServiceMethods.all + AutomationServiceMethods.all + MeetingsServiceMethods.all
    + SessionsServiceMethods.all + DevicesServiceMethods.all + AssetsServiceMethods.all + StatisticsServiceMethods.all

  private func document() throws -> [String: Any] {
    let object = try JSONSerialization.jsonObject(with: Data(OpenAPIDocument.bytes(Self.table)))
    return try #require(object as? [String: Any])
  }

  private func operation(_ method: String, _ path: String) throws -> [String: Any] {
    let paths = try #require(document()["paths"] as? [String: [String: Any]])
    return try #require(paths[path]?[method] as? [String: Any])
  }

  private func schema(_ name: String) throws -> [String: Any] {
    let components = try #require(document()["components"] as? [String: [String: Any]])
    return try #require(components["schemas"]?[name] as? [String: Any])
  }

  @Test func pathsThatDifferInNamesAreOne() throws {
    let shared = SharedPath.all(Self.table.bindings)
    let meeting = try #require(shared.first { $0.path == "/attendance/v1/meetings/{meetingId}" })
    #expect(meeting.bindings.map(\.verb).sorted() == ["DELETE", "GET", "PATCH"])
    #expect(shared.contains { $0.path == "/sync/v1/syncDevices/{deviceId}" && $0.bindings.count == 2 })
    #expect(shared.contains { $0.path == "/notifications/v1/webhooks/{webhookId}" && $0.bindings.count == 2 })
    #expect(Set(shared.map(\.path)).count == shared.count)
  }

  @Test func bodyOfAnUpdateLeavesOutThePath() throws {
    let body = try schema("NotificationsService_UpdateBucketBody")
    let properties = try #require(body["properties"] as? [String: [String: Any]])
    #expect(properties["bucket"]?["$ref"] as? String == "#/components/schemas/campanile.notifications.v1.BucketPatch")
    #expect(properties["updateMask"]?["pattern"] as? String != nil)
    let patch = try schema("campanile.notifications.v1.BucketPatch")
    #expect(patch["required"] == nil)
    #expect((patch["properties"] as? [String: Any])?["id"] == nil)
    #expect(try schema("campanile.notifications.v1.Bucket")["required"] as? [String] == ["name"])
  }

  @Test func bodyOfAFieldLeavesOutThePath() throws {
    let body = try schema("DevicesService_RegisterDeviceBody")
    #expect(body["required"] as? [String] == ["role"])
    #expect((body["properties"] as? [String: Any])?["id"] == nil)
    let operation = try operation("put", "/sync/v1/syncDevices/{deviceId}")
    let text = "\(try #require(operation["requestBody"]))"
    #expect(text.contains("#/components/schemas/DevicesService_RegisterDeviceBody"))
    #expect(try schema("campanile.sync.v1.SyncDevice")["required"] as? [String] == ["id", "role"])
  }

  @Test func securityFollowsTheScope() throws {
    #expect(try operation("post", "/attendance/v1/sessions")["security"] as? [[String: [String]]] == [])
    #expect(try operation("get", "/notifications/v1/buckets")["security"] as? [[String: [String]]] == [["bearer": []]])
    #expect(
      try operation("get", "/notifications/v1/notifications:watch")["security"] as? [[String: [String]]]
        == [["bearer": []], ["accessToken": []]])
    #expect(
      try operation("get", "/attendance/v1/meetings")["security"] as? [[String: [String]]]
        == [["bearer": []], ["attendanceSession": []]])
  }

  @Test func operationsHaveTextsAndReasons() throws {
    let create = try operation("post", "/notifications/v1/buckets")
    #expect(create["operationId"] as? String == "NotificationsService_CreateBucket")
    #expect(create["summary"] as? String == "Creates a bucket")
    let description = try #require(create["description"] as? String)
    #expect(description.contains("Requires the scope `notifications:write`."))
    #expect(description.contains("- `COLOR_INVALID`"))
    #expect(!description.contains("- `RESOURCE_EXHAUSTED`"))
    #expect(try operation("get", "/notifications/v1/buckets/{bucketId}")["summary"] as? String == "Get bucket")
  }

  @Test func defaultsAreThoseOfRequestsOnly() throws {
    let parameters = try #require(try operation("get", "/notifications/v1/buckets")["parameters"] as? [[String: Any]])
    let size = try #require(parameters.first { $0["name"] as? String == "pageSize" }?["schema"] as? [String: Any])
    #expect(size["default"] as? Int == 50)
    #expect(size["minimum"] as? Int == 0)
    let settings = try #require(
      try schema("campanile.notifications.v1.UserSettings")["properties"] as? [String: [String: Any]])
    #expect(settings["summarySize"]?["default"] == nil)
    #expect(settings["updateTime"]?["readOnly"] as? Bool == true)
  }

  @Test(arguments: [0, 7, 10, 25, 99, 100, 1_000_000, 262_144_000, UInt64(Int64.max), UInt64.max])
  func patternsOfIntegersEndAtTheirBound(highest: UInt64) throws {
    let pattern = try Regex(TextPatterns.integers(to: highest, isSigned: false))
    for value in [0, highest / 10, highest / 3, highest == 0 ? 0 : highest - 1, highest] {
      #expect("\(value)".wholeMatch(of: pattern) != nil, "\(value)")
    }
    for text in ["", "-1", "00", "+1", "\(highest)0", highest == .max ? "18446744073709551616" : "\(highest + 1)"] {
      #expect(highest == 0 && text == "00" || text.wholeMatch(of: pattern) == nil, "\(text)")
    }
    let signed = try Regex(TextPatterns.integers(to: highest, isSigned: true, startsAtOne: true))
    #expect("0".wholeMatch(of: signed) == nil)
    if highest > 0 { #expect("-\(highest)".wholeMatch(of: signed) != nil) }
  }

  @Test(
    arguments: [(0, 0), (0, 59), (60, 60), (60, 86_400), (1, 28_800), (99, 1_001), (0, 315_576_000_000)]
      as [(UInt64, UInt64)])
  func patternsOfDurationsMatchFromBoundToBound(lowest: UInt64, highest: UInt64) throws {
    let pattern = try Regex(TextPatterns.duration(from: lowest, to: highest))
    let probes = [
      lowest, lowest + 1, 9, 10, 60, 99, 100, 999, 1_000, 12_345, highest / 3, highest / 10, highest, highest + 1,
    ]
    for value in probes {
      let isIncluded = value >= lowest && value <= highest
      #expect(("\(value)s".wholeMatch(of: pattern) != nil) == isIncluded, "\(value)")
      #expect(("\(value).5s".wholeMatch(of: pattern) != nil) == (isIncluded && value < highest), "\(value).5")
    }
    for text in ["", "s", "-5s", "\(highest)", "\(highest).001s"] {
      #expect(text.wholeMatch(of: pattern) == nil, "\(text)")
    }
    #expect("\(highest).000s".wholeMatch(of: pattern) != nil)
  }

  @Test(arguments: [
    ("/v1/echo/a", "GET"), ("/v1/echo/a:again", "POST"), ("/v1/tree/a/b", "PUT"), ("/healthz", "GET"),
    ("/openapi.json", "GET, HEAD"), (HTTPFrontendTests.echo, "GET, POST"),
  ])
  func optionsListTheMethodsOfThePath(path: String, methods: String) async throws {
    try await withHTTP({ $0.crossOrigin.origins = ["https://app.example"] }) { http in
      let answer = try await HTTPWire.exchange(port: http.port, "OPTIONS", path, [:])
      #expect(answer.status == 204)
      #expect(answer.headers["allow"] == "OPTIONS, \(methods)")
      let preflight = [
        "Origin": "https://app.example", "Access-Control-Request-Method": String(methods.split(separator: ",")[0]),
      ]
      let allowed = try await HTTPWire.exchange(port: http.port, "OPTIONS", path, preflight)
      #expect(allowed.status == 204)
      #expect(allowed.headers["access-control-allow-methods"] == methods)
      let other = preflight.merging(["Access-Control-Request-Method": "PATCH"]) { $1 }
      #expect(try await HTTPWire.exchange(port: http.port, "OPTIONS", path, other).status == 403)
    }
  }

  @Test func refusalsListTheMethodsOfThePath() async throws {
    try await withHTTP { http in
      for (path, methods) in [
        ("/v1/echo/a", "GET"), ("/v1/echo/a:again", "POST"), (HTTPFrontendTests.echo, "GET, POST"),
      ] {
        let answer = try await HTTPWire.exchange(port: http.port, "DELETE", path, http.bearer)
        #expect(answer.status == 405, "\(path)")
        #expect(answer.headers["allow"] == methods, "\(path)")
      }
      #expect(try await HTTPWire.exchange(port: http.port, "OPTIONS", "/v1/nothing", [:]).status == 404)
    }
  }
}
