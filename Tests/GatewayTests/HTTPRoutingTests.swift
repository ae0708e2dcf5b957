import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import NIOCore
import NIOHTTP1
import Testing

@testable import Gateway
@testable import GatewayDialects
@testable import GatewayHTTP

@Suite struct HTTPRoutingTests {
  @Test(
    arguments: [
      ("/notifications/v1/buckets/{bucket_id}", 4, ["bucket_id"], nil as String?),
      ("/notifications/v1/buckets/{bucket.id}:snooze", 4, ["bucket", "id"], "snooze"),
      ("/v1/{name=shelves/*/books/*}", 5, ["name"], nil), ("/v1/{path=**}:read", 2, ["path"], "read"),
      ("/activities/v1/rooms:disconnect", 3, [], "disconnect"),
    ] as [(String, Int, [String], String?)])
  func templatesAreParsed(text: String, segmentCount: Int, variable: [String], verb: String?) throws {
    let template = try #require(PathTemplate(text))
    #expect(template.segments.count == segmentCount)
    #expect(template.variables.first?.fieldPath ?? [] == variable)
    #expect(template.verb == verb)
  }

  @Test(arguments: [
    "", "v1/a", "/", "/v1//a", "/v1/", "/v1/{", "/v1/{}", "/v1/{a", "/v1/{a.}", "/v1/{a=}", "/v1/{a=**}/b", "/v1/a:",
    "/v1/{a}b",
    "/v1/a{b}", "/v1/}",
  ])
  func invalidTemplatesAreRejected(text: String) { #expect(PathTemplate(text) == nil) }

  @Test func literalsAndVerbsTakePrecedence() throws {
    var tree = RouteTree<String>()
    for (text, name) in [
      ("/v1/a/{id}", "one"), ("/v1/a/fixed", "fixed"), ("/v1/a/{id}:go", "verb"), ("/v1/a/{id}/b", "deep"),
      ("/v1/{rest=**}", "rest"), ("/v1/a:scheduled/{id}", "colon"),
    ] {
      let template = try #require(PathTemplate(text))
      let isNew = tree.add(template, method: "GET", name)
      #expect(isNew)
    }
    let same = try #require(PathTemplate("/v1/a/{other}"))
    let isNew = tree.add(same, method: "GET", "again")
    #expect(!isNew)
    for (path, name, captured) in [
      ("/v1/a/x", "one", "x"), ("/v1/a/fixed", "fixed", nil), ("/v1/a/x:go", "verb", "x"), ("/v1/a/x:y", "one", "x:y"),
      ("/v1/a/x%2Fy", "one", "x/y"), ("/v1/a/x/b", "deep", "x"), ("/v1/a/x/c", "rest", "a/x/c"),
      ("/v1/a:scheduled/7", "colon", "7"), ("/v1/a/caf%C3%A9", "one", "café"),
    ] as [(String, String, String?)] {
      guard
        case .found(let value, let captures) = try tree.match(
          method: "GET", segments: RequestPath.segments(of: path[...]))
      else {
        Issue.record("\(path) is not found")
        continue
      }
      #expect(value == name, "\(path)")
      #expect(captures.values.first == captured, "\(path)")
    }
    guard case .otherMethod(["GET"]) = try tree.match(method: "POST", segments: ["v1", "a", "fixed"]) else {
      Issue.record("another method is not reported")
      return
    }
    // A verb that the path has for other methods is not part of an id.
    guard case .otherMethod(["GET"]) = try tree.match(method: "DELETE", segments: ["v1", "a", "x:go"]) else {
      Issue.record("a verb is taken for a part of an id")
      return
    }
    guard case .none = try tree.match(method: "GET", segments: ["v2"]) else {
      Issue.record("an unknown path is found")
      return
    }
  }

  @Test(arguments: [
    "v1/a", "/v1//a", "/v1/../a", "/v1/%2e%2e/a", "/v1/%2E./a", "/v1/./a", "/v1/%", "/v1/%1", "/v1/%zz", "/v1/a%00b",
    "/v1/a%0d%0aX",
    "/v1/%ff", "/v1/%c0%ae", "/v1/a\u{7F}", "/" + String(repeating: "a/", count: 40) + "a", "*", "",
  ])
  func hostilePathsAreRefused(path: String) {
    #expect(throws: RPCError.self) { _ = try RequestPath.segments(of: path[...]) }
  }

  @Test func queriesAreParsed() throws {
    let query = try QueryText("a=1&b=x%20y+z&c&d=%26%3D&a=2")
    #expect(query.parameters.map(\.name) == ["a", "b", "c", "d", "a"])
    #expect(query.parameters.map(\.value) == ["1", "x y z", "", "&=", "2"])
    #expect(throws: RPCError.self) { _ = try QueryText("a=%0") }
    #expect(throws: RPCError.self) { _ = try QueryText("a=%00") }
    let many = Array(repeating: "a=1", count: 257).joined(separator: "&")
    #expect(throws: RPCError.self) { _ = try QueryText(many[...]) }
  }

  static let index = SchemaIndex(descriptorSet: DescriptorSet.serializedBytes)

  static func params(_ type: String, _ pairs: [([String], String)], over body: String? = nil) throws -> String {
    let binding = FieldBinding(index: index, request: try #require(index.messages[type]))
    var tree = ParamsTree()
    for (path, text) in pairs { try binding.bind(path, text, into: &tree) }
    var writer = JSONWriter()
    if let body {
      Array(body.utf8).withUnsafeBytes { tree.write(to: &writer, over: $0) }
    } else {
      tree.write(to: &writer)
    }
    return writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  @Test func fieldsAreBoundByTheirTypes() throws {
    let list = "campanile.notifications.v1.ListNotificationsRequest"
    #expect(
      try Self.params(list, [(["page_size"], "10"), (["unreadOnly"], "true")])
        == #"{"pageSize":"10","unreadOnly":true}"#)
    let update = "campanile.notifications.v1.UpdateNotificationRequest"
    #expect(
      try Self.params(update, [(["notification", "id"], "n\"1"), (["update_mask"], "title,body")])
        == #"{"notification":{"id":"n\"1"},"updateMask":"title,body"}"#)
    let key = "campanile.gateway.v1.CreateApiKeyRequest"
    #expect(
      try Self.params(key, [(["scopes"], "a"), (["scopes"], "b"), (["expire_time"], "2030-01-01T00:00:00Z")])
        == #"{"scopes":["a","b"],"expireTime":"2030-01-01T00:00:00Z"}"#)
  }

  @Test(
    arguments: [
      ("FIELD_UNKNOWN", ["nothing"], "1"), ("FIELD_UNKNOWN", [""], "1"), ("FIELD_UNKNOWN", ["page_size", "x"], "1"),
      ("FIELD_INVALID", ["page_size"], "1 or 1"), ("FIELD_INVALID", ["page_size"], ""),
      ("FIELD_INVALID", ["page_size"], "\"},{"),
      ("FIELD_INVALID", ["unread_only"], "1"), ("FIELD_UNKNOWN", Array(repeating: "page_size", count: 9), "1"),
    ] as [(String, [String], String)])
  func invalidFieldsAreRefused(reason: String, path: [String], text: String) throws {
    let type = "campanile.notifications.v1.ListNotificationsRequest"
    let error = #expect(throws: RPCError.self) { _ = try Self.params(type, [(path, text)]) }
    #expect(error?.reason == reason)
    #expect(error?.processed == false)
    let twice = #expect(throws: RPCError.self) {
      _ = try Self.params(type, [(["page_size"], "1"), (["pageSize"], "2")])
    }
    #expect(twice?.reason == "FIELD_TWICE")
    let message = #expect(throws: RPCError.self) {
      _ = try Self.params("campanile.notifications.v1.UpdateNotificationRequest", [(["notification"], "{}")])
    }
    #expect(message?.reason == "FIELD_NOT_BINDABLE")
  }

  @Test func urlTakesPrecedenceOverTheBody() throws {
    let update = "campanile.notifications.v1.UpdateNotificationRequest"
    #expect(
      try Self.params(
        update, [(["notification", "id"], "n1")],
        over: #" { "notification" : {"id":"other", "title":"t"}, "updateMask":"title"} "#)
        == #"{"notification":{"title":"t","id":"n1"},"updateMask":"title"}"#)
    // The service rejects a value of another type.
    #expect(
      try Self.params(update, [(["notification", "id"], "n1")], over: #"{"notification":[null]}"#)
        == #"{"notification":[null]}"#)
    #expect(
      try Self.params(update, [(["notification", "id"], "n1")], over: #"{"notification":null,"updateMask":"x"}"#)
        == #"{"updateMask":"x","notification":{"id":"n1"}}"#)
    #expect(
      try Self.params(
        "campanile.notifications.v1.GetNotificationRequest", [(["notification_id"], "a")],
        over: #"{"notification_id":"b"}"#)
        == #"{"notificationId":"a"}"#)
  }

  @Test func loneSurrogateInANameHidesNothing() throws {
    // The service must refuse the name, so the members after it must not be lost.
    let update = "campanile.notifications.v1.UpdateNotificationRequest"
    #expect(
      try Self.params(update, [(["update_mask"], "title")], over: #"{"\ud800":1,"notification":{"id":"n"}}"#)
        == "{\"\u{FFFD}\":1,\"notification\":{\"id\":\"n\"},\"updateMask\":\"title\"}")
    let fields = try JSONFields(Array(#"{"\udfff":1,"title":"t"}"#.utf8))
    #expect(try fields.string("title") == "t")
  }

  @Test func everyHTTPRuleCanBeServed() {
    let table = HTTPTable(
      methods: SuiteMethods.all + Gateway.ownMethods, descriptorSet: DescriptorSet.serializedBytes)
    #expect(table.faults == [])
    #expect(table.bindings.count > 100)
    #expect(
      table.method("campanile.notifications.v1.NotificationsService/WatchNotifications")?.token?.jsonName
        == "resumeToken")
    #expect(
      table.method("campanile.attendance.v1.AttendanceService/WatchRosterChanges")?.token?.jsonName == "resumeToken")
    #expect(table.method("campanile.notifications.v1.NotificationsService/DeleteBucket")?.etag == ["etag"])
    #expect(
      table.method("campanile.notifications.v1.NotificationsService/UpdateNotification")?.etag == [
        "notification", "etag",
      ])
  }

  @Test func headersBecomeMetadata() throws {
    let metadata = try HeaderMetadata.read([
      (name: "Host", value: "h"), (name: "X-Custom", value: "a"), (name: "x-custom", value: "b"),
      (name: "Authorization", value: "Bearer x"), (name: "Content-Type", value: "text/plain"),
      (name: "Cookie", value: "c"),
      (name: "Connect-Timeout-Ms", value: "5"), (name: "traceparent", value: "00-a"),
    ])
    #expect(metadata.entries.map(\.key) == ["x-custom", "x-custom", "authorization", "traceparent"])
    for (name, value, reason) in [
      ("Campanile-Principal", "user/root", "METADATA_RESERVED"), ("x-a", "b\r\nx-c: d", "METADATA_VALUE_INVALID"),
      ("x-a", "b\u{0}", "METADATA_VALUE_INVALID"), ("x*a", "b", "METADATA_KEY_INVALID"),
      ("x-a", String(repeating: "b", count: 9000), "METADATA_TOO_LARGE"),
    ] {
      let error = #expect(throws: RPCError.self) { _ = try HeaderMetadata.read([(name: name, value: value)]) }
      #expect(error?.reason == reason)
    }
  }

  @Test func entityTagsAreCompared() {
    #expect(EntityTag.condition("\"abc\"") == .one("abc"))
    #expect(EntityTag.condition(" * ") == .any)
    for text in ["abc", "\"", "", "W/\"abc\"", "\"a\", \"b\"", "\"a b\"", "\"a\"\""] {
      #expect(EntityTag.condition(text) == .unusable)
    }
    #expect(EntityTag.header("abc") == "\"abc\"")
    #expect(EntityTag.header("a\r\nb") == nil)
    #expect(EntityTag.noneMatch("\"x\", W/\"abc\"", names: "abc"))
    #expect(EntityTag.noneMatch("*", names: "abc"))
    #expect(!EntityTag.noneMatch("\"abcd\"", names: "abc"))
  }

  @Test func originsAreChecked() {
    let policy = CrossOriginPolicy(origins: ["https://app.example"])
    #expect(
      policy.headers(for: "https://app.example").contains {
        $0 == ("Access-Control-Allow-Origin", "https://app.example")
      })
    #expect(policy.headers(for: "https://evil.example").map(\.0) == ["Vary"])
    #expect(CrossOriginPolicy().headers(for: "https://app.example").isEmpty)
    #expect(
      policy.preflight(
        origin: "https://app.example", method: "POST", of: ["GET", "POST"], requestedHeaders: "Content-Type, x-a")?
        .count
        == 5)
    for (origin, method, headers) in [
      ("https://evil.example", "POST", nil as String?), ("https://app.example", "TRACE", nil),
      ("https://app.example", "POST", "campanile-principal"), ("https://app.example", "POST", "x\r\ny: z"),
    ] { #expect(policy.preflight(origin: origin, method: method, of: ["POST"], requestedHeaders: headers) == nil) }
    #expect(
      policy.preflight(origin: "https://app.example", method: "PUT", of: ["POST"], requestedHeaders: nil) == nil)
    #expect(CrossOriginPolicy(origins: ["*"]).allowedOrigin("https://any.example") == "*")
  }
}
