import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import Testing

@testable import Sync

/// Invalid requests and their codes and reasons. Rejected requests leave nothing behind.
@Suite struct BadInputTests {
  private typealias Change = @Sendable (inout AssetPut) -> Void

  private static let puts: [(String, String, Change)] = [
    ("INVALID_ARGUMENT REQUIRED", "no name", { $0.name = "" }),
    ("INVALID_ARGUMENT NAME_INVALID", "slash", { $0.name = "a/b.json" }),
    ("INVALID_ARGUMENT NAME_INVALID", "backslash", { $0.name = "a\\b.json" }),
    ("INVALID_ARGUMENT NAME_INVALID", "parent", { $0.name = ".." }),
    ("INVALID_ARGUMENT NAME_INVALID", "control", { $0.name = "a\u{7}b" }),
    ("INVALID_ARGUMENT TEXT_INVALID", "U+0000", { $0.name = "a\u{0}b" }),
    ("INVALID_ARGUMENT TOO_LONG", "long name", { $0.name = String(repeating: "x", count: 256) }),
    ("INVALID_ARGUMENT REQUIRED", "no type", { $0.recordType = "" }),
    ("INVALID_ARGUMENT NAME_INVALID", "type", { $0.recordType = "a b" }),
    ("INVALID_ARGUMENT REQUIRED", "no content", { $0.content = nil }),
    ("INVALID_ARGUMENT JSON_INVALID", "empty", { $0.content = .inlineContent([]) }),
    ("INVALID_ARGUMENT JSON_INVALID", "cut", { $0.content = .inlineContent(Array("[1,2".utf8)) }),
    ("INVALID_ARGUMENT JSON_INVALID", "two values", { $0.content = .inlineContent(Array("1 2".utf8)) }),
    ("INVALID_ARGUMENT JSON_INVALID", "UTF-8", { $0.content = .inlineContent([0x22, 0xFF, 0x22]) }),
    ("INVALID_ARGUMENT JSON_INVALID", "BOM", { $0.content = .inlineContent([0xEF, 0xBB, 0xBF, 0x31]) }),
    (
      "INVALID_ARGUMENT JSON_TOO_DEEP", "depth 513",
      { put in
        put.content = .inlineContent(
          Array((String(repeating: "[", count: 513) + String(repeating: "]", count: 513)).utf8))
      }
    ),
    (
      "INVALID_ARGUMENT CONTENT_TOO_LARGE", "inline size",
      { $0.content = .inlineContent([UInt8](repeating: 0x20, count: 1 << 20) + [0x31]) }
    ),
    ("INVALID_ARGUMENT CONTAINER_INVALID", "no container", { $0.recordType = "BucketsData" }),
    (
      "INVALID_ARGUMENT CONTAINER_INVALID", "record",
      { put in
        put.recordType = "NotificationsData"
        put.content = .inlineContent(
          Array("{\"notifications\":[{\"id\":\"n\"}],\"syncTimestamp\":\"2026-01-01T00:00:00Z\"}".utf8))
      }
    ),
    (
      "INVALID_ARGUMENT RECORD_COUNT_WRONG", "count",
      { put in
        put.recordType = "BucketsData"
        put.recordCount = 2
        put.content = .inlineContent(Array("{\"buckets\":[],\"syncTimestamp\":\"2026-01-01T00:00:00Z\"}".utf8))
      }
    ),
    ("INVALID_ARGUMENT OUT_OF_RANGE", "negative count", { $0.recordCount = -1 }),
    ("INVALID_ARGUMENT OUT_OF_RANGE", "time", { $0.syncTime = ProtoTimestamp(seconds: .max) }),
    ("INVALID_ARGUMENT HASH_INVALID", "hash", { $0.content = .sha256("ABC") }),
    ("NOT_FOUND CONTENT_NOT_FOUND", "unknown hash", { $0.content = .sha256(String(repeating: "0", count: 64)) }),
    ("INVALID_ARGUMENT REQUIRED", "no upload", { $0.content = .uploadId("") }),
    ("NOT_FOUND UPLOAD_NOT_FOUND", "unknown upload", { $0.content = .uploadId("u_0") }),
    ("ABORTED ETAG_MISMATCH", "etag", { $0.etag = "v7" }),
    (
      "ABORTED ETAG_MISMATCH", "etag without a policy",
      { put in
        put.etag = "v7"
        put.onConflict = .unspecified
      }
    ),
    ("INVALID_ARGUMENT REQUIRED", "no policy", { $0.onConflict = .unspecified }),
    (
      "INVALID_ARGUMENT FIELD_NOT_ALLOWED", "both conditions",
      { put in
        put.etag = "v1"
        put.mustNotExist = true
      }
    ),
    ("INVALID_ARGUMENT FIELD_NOT_ALLOWED", "merge of notes", { $0.onConflict = .merge }),
    ("INVALID_ARGUMENT ENUM_UNKNOWN", "policy", { $0.onConflict = .init(rawValue: 9) }),
  ]

  @Test func refusesPuts() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      for (expected, what, change) in Self.puts {
        let found = await refusal { try await component.put("a.json", "{}", anna, change) }
        #expect(found == expected, "\(what)")
      }
      let list = try await component.list()
      #expect(list.assets.isEmpty)
      #expect(try fixture.contentFiles() == [])
      #expect(try fixture.uploadFiles() == [])
    }
  }

  @Test func refusesUnknownsAndReaders() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      #expect(await refusal { try await component.text("a.json") } == "NOT_FOUND ASSET_NOT_FOUND")
      #expect(await refusal { try await component.history("a.json") } == "NOT_FOUND ASSET_NOT_FOUND")
      #expect(
        await refusal { try await component.put("a", "1", zone: "Other") } == "NOT_FOUND ZONE_NOT_FOUND")
      #expect(await refusal { try await component.put("a", "1", zone: "a/b") } == "INVALID_ARGUMENT ID_INVALID")
      #expect(
        await refusal { try await component.put("a", "1", device: "watch") } == "PERMISSION_DENIED DEVICE_READ_ONLY")
      #expect(await refusal { try await component.put("a", "1", device: "tv") } == "NOT_FOUND DEVICE_NOT_FOUND")
      #expect(await refusal { try await component.put("a", "1", device: "") } == "INVALID_ARGUMENT REQUIRED")
      let reader = await failure { try await component.put("a", "1", device: "watch") }
      #expect(reader?.message.contains("SyncUpdateMessage") == true)
      try await component.put("a", "1")
      #expect(await refusal { try await component.text("a", version: 9) } == "NOT_FOUND VERSION_NOT_FOUND")
      #expect(await refusal { try await component.text("a", version: -1) } == "INVALID_ARGUMENT OUT_OF_RANGE")
      #expect(
        await refusal { try await component.register("phone", .reader) } == "FAILED_PRECONDITION ROLE_FIXED")
      #expect(await refusal { try await component.register("a/b", .reader) } == "INVALID_ARGUMENT ID_INVALID")
      #expect(await refusal { try await component.changes(since: "x") } == "INVALID_ARGUMENT RESUME_TOKEN_INVALID")
      try await component.settleContents()
      #expect(try fixture.contentFiles().count == 1)
    }
  }

  @Test func acceptsValuesAtTheLimits() async throws {
    var limits = SyncLimits()
    limits.contentBytesMax = 2_000
    let fixture = try Fixture(limits)
    try await fixture.run { component in
      let blanks = String(repeating: " ", count: 1_999)
      let deep = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
      try await component.put("a", "1" + blanks)
      try await component.put("a", deep)
      let name = String(repeating: "\u{1F514}", count: 255)
      try await component.put(name, "1")
      #expect(try await component.text(name) == "1")
      #expect(await refusal { try await component.put("a", "12" + blanks) } == "INVALID_ARGUMENT CONTENT_TOO_LARGE")
      #expect(await refusal { try await component.put("a", "[" + deep + "]") } == "INVALID_ARGUMENT JSON_TOO_DEEP")
      #expect(await refusal { try await component.put(name + "x", "1") } == "INVALID_ARGUMENT TOO_LONG")
      let content = Array(("1" + blanks).utf8)
      let id = try await component.createUpload(content).id
      try await component.send(id, content)
      try await component.putUpload("b", id)
      // A size one byte over the limit is rejected when declared, before any byte arrives.
      #expect(
        await refusal { try await component.createUpload(content + [0x20]) } == "INVALID_ARGUMENT CONTENT_TOO_LARGE")
      #expect(try await component.list().assets.map(\.name) == ["a", "b", name])
      #expect(try fixture.uploadFiles() == [])
    }
  }

  @Test(arguments: ["a/b", "a\\b", "..", ".", "a\u{1}", "a\nb", "\u{2028}"])
  func refusesPathsAsNames(name: String) async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let assets = component.assets
      let calls: [(String, () async throws -> Void)] = [
        ("get", { _ = try await assets.getAsset(.init(name: name), context: anna) }),
        ("put", { _ = try await component.put(name, "1") }),
        (
          "delete",
          { _ = try await assets.deleteAsset(.init(deviceId: "phone", name: name), context: anna) }
        ),
        (
          "commit",
          {
            _ = try await component.commit([
              AssetChange(change: .put(.of("fine", "1"))), AssetChange(change: .put(.of(name, "1"))),
            ])
          }
        ),
        ("versions", { _ = try await component.history(name) }),
        (
          "restore",
          {
            _ = try await assets.restoreAssetVersion(.init(deviceId: "phone", name: name, version: 1), context: anna)
          }
        ),
        (
          "patch",
          {
            _ = try await assets.patchAsset(
              .init(deviceId: "phone", name: name, etag: "v1", patch: .mergePatch("{}")), context: anna)
          }
        ),
        ("delta", { _ = try await assets.getAssetDelta(.init(name: name), context: anna) }),
      ]
      for (what, call) in calls {
        #expect(await refusal { try await call() } == "INVALID_ARGUMENT NAME_INVALID", "\(what) \(name)")
      }
      #expect(await refusal { try await component.register(name, .writer) } == "INVALID_ARGUMENT ID_INVALID")
      #expect(
        await refusal { try await component.zones.createZone(.init(zoneId: name), context: anna) }
          == "INVALID_ARGUMENT ID_INVALID")
      let list = try await component.list()
      #expect(list.assets.isEmpty)
      #expect(try fixture.contentFiles() == [])
    }
  }

  @Test func truncatesLongPathsOfDuplicateNames() async throws {
    try await Fixture().run { component in
      let name = String(repeating: "n", count: 60)
      let open = String(repeating: "{\"\(name)\":", count: 100)
      let text = open + "{\"a\":1,\"a\":2}" + String(repeating: "}", count: 100)
      let put = try await component.put("a", text) { $0.strict = true }
      #expect(put.duplicateNames == ["/" + String((String(repeating: name + "/", count: 5)).prefix(255)) + "\u{2026}"])
    }
  }

  @Test func reportsPositionOfInvalidJSON() async throws {
    try await Fixture().run { component in
      let broken = await failure { try await component.put("a", "{\"a\":1,,}") }
      #expect(broken?.errorMetadata["byteOffset"] == "7")
      #expect(broken?.errorMetadata["expected"]?.isEmpty == false)
      #expect(broken?.fieldViolations.first?.field == "put.content")
      let container = await failure {
        try await component.put("b", "{\"buckets\":[{\"id\":7}],\"syncTimestamp\":\"2026-01-01T00:00:00Z\"}") {
          $0.recordType = "BucketsData"
        }
      }
      #expect(container?.errorMetadata["path"] == "/buckets/0/id")
    }
  }

  @Test func reportsAndKeepsDuplicateNames() async throws {
    try await Fixture().run { component in
      let text = "{\"a\":1,\"b\":{\"c\":1,\"c\":2}}"
      let plain = try await component.put("a", text)
      #expect(plain.duplicateNames == [])
      #expect(try await component.put("a", text) { $0.strict = true }.duplicateNames == ["/b/c"])
      #expect(try await component.text("a") == text)
    }
  }

  @Test func keepsEveryByte() async throws {
    try await Fixture().run { component in
      for text in [" 1 ", "\"\\u00e9é\\ud83d\\ude00\"", "1e400", "[1.0,\t1.00]", "{\"b\":1,\"a\":2}\n", "null"] {
        try await component.put("a", text)
        #expect(try await component.text("a") == text)
      }
    }
  }

  @Test func refusesPatches() async throws {
    try await Fixture().run { component in
      try await component.put("a", "{\"list\":[1,2]}")
      func patch(_ patch: PatchAssetRequest.Patch?, _ etag: String = "v1") async -> RPCError? {
        await failure {
          try await component.assets.patchAsset(
            .init(deviceId: "phone", name: "a", etag: etag, patch: patch), context: anna)
        }
      }
      #expect(await patch(nil)?.reason == "REQUIRED")
      #expect(await patch(.mergePatch("{}"), "")?.reason == "REQUIRED")
      #expect(await patch(.mergePatch("{}"), "v9")?.reason == "ETAG_MISMATCH")
      #expect(await patch(.mergePatch("{"))?.reason == "PATCH_INVALID")
      #expect(await patch(.jsonPatch("{}"))?.reason == "PATCH_INVALID")
      #expect(await patch(.jsonPatch("[{\"op\":\"spin\",\"path\":\"\"}]"))?.reason == "PATCH_INVALID")
      let refused = await patch(
        .jsonPatch("[{\"op\":\"test\",\"path\":\"/list/0\",\"value\":1},{\"op\":\"remove\",\"path\":\"/list/7\"}]"))
      #expect(refused?.code == .failedPrecondition)
      #expect(refused?.reason == "PATCH_REFUSED")
      #expect(refused?.errorMetadata["operation"] == "1")
      #expect(refused?.errorMetadata["path"] == "/list/7")
      #expect(try await component.history("a").count == 1)
    }
  }
}
