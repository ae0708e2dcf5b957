import CampanileAPI
import CampanileCodec
import ServiceTesting
import Testing

@testable import Sync

@Suite struct ImportTests {
  /// Records as CloudKit's web services return what the apps stored: one for each bucket and notification.
  private static let records = #"""
    {"records":[
      {"recordName":"b1","recordType":"Bucket","recordChangeTag":"k1","fields":{
        "name":{"value":"News","type":"STRING"},"description":{"value":"","type":"STRING"},
        "color":{"value":"#112233","type":"STRING"},"iconUrl":{"value":"","type":"STRING"},
        "createdAt":{"value":1762600000123,"type":"TIMESTAMP"},"updatedAt":{"value":1762600001000,"type":"TIMESTAMP"}}},
      {"recordName":"n1","recordType":"Notification","fields":{
        "title":{"value":"Old","type":"STRING"},"subtitle":{"value":""},"body":{"value":"line\nline"},
        "createdAt":{"value":1762600000000},"updatedAt":{"value":1762600000000},"bucketId":{"value":"b1"},
        "attachments":{"value":"[{\"mediaType\":\"IMAGE\",\"url\":\"https://example.com/a.png\"}]"},
        "actions":{"value":"[{\"type\":\"DELETE\",\"value\":\"delete_notification\",\"destructive\":true}]"},
        "tapAction":{"value":"{\"type\":\"NAVIGATE\",\"value\":\"https://example.com\",\"destructive\":false}"}}},
      {"recordName":"n2","recordType":"Notification","fields":{
        "title":"New","readAt":"2025-11-08T12:00:00.5Z","createdAt":"2025-11-08T11:07:00Z","updatedAt":"2025-11-08T11:07:00Z",
        "bucketId":"b1","attachments":[],"actions":[{"type":"MARK_AS_READ"}]}},
      {"recordName":"gone","recordType":"Bucket","deleted":true}
    ]}
    """#

  private static func run(
    _ json: String, id: String = "", validateOnly: Bool = false, device: String = "phone", _ component: SyncComponent
  ) async throws -> ImportRecordsResponse {
    try await component.assets.importRecords(
      .init(deviceId: device, recordsJson: json, validateOnly: validateOnly, requestId: id), context: anna)
  }

  @Test("old records become the two files, in one commit")
  func writesBothFiles() async throws {
    try await Fixture().run { component in
      let checked = try await Self.run(Self.records, validateOnly: true, component)
      #expect(checked.assets.isEmpty && checked.notificationCount == 2)
      let made = try await Self.run(Self.records, id: "r1", component)
      #expect((made.bucketCount, made.notificationCount, made.deletedCount) == (1, 2, 1))
      #expect(made.errors.isEmpty)
      #expect(made.assets.map(\.name) == ["buckets.json", "notifications.json"])
      #expect(made.assets.map(\.recordCount) == [1, 2])
      #expect(Set(made.assets.map(\.version)).count == 1)
      let buckets = try await component.text("buckets.json")
      #expect(
        buckets.hasPrefix(
          "{\"buckets\":[{\"id\":\"b1\",\"name\":\"News\",\"color\":\"#112233\",\"createdAt\":\"2025-11-08T11:06:40.123Z\","
            + "\"updatedAt\":\"2025-11-08T11:06:41Z\"}],\"syncTimestamp\":"))
      let notifications = try await component.text("notifications.json")
      #expect(
        notifications.hasPrefix(
          "{\"notifications\":[{\"id\":\"n2\",\"title\":\"New\",\"readAt\":\"2025-11-08T12:00:00.500Z\""))
      #expect(notifications.contains("\"body\":\"line\\nline\""))
      #expect(notifications.contains("{\"mediaType\":\"IMAGE\",\"url\":\"https://example.com/a.png\"}"))
      #expect(notifications.contains("{\"type\":\"MARK_AS_READ\",\"destructive\":false}"))
      #expect(
        notifications.contains(
          "\"tapAction\":{\"type\":\"NAVIGATE\",\"value\":\"https://example.com\",\"destructive\":false}"))
      #expect(!notifications.contains("subtitle"))
      // A repetition commits nothing.
      let again = try await Self.run(Self.records, id: "r1", component)
      #expect(again == made)
      #expect(
        await refusal { try await Self.run("[]", id: "r1", component) } == "")
    }
  }

  @Test("a later record of the file stays, and an older one is replaced")
  func mergesWithTheFiles() async throws {
    try await Fixture().run(link: FakeNotifications()) { component in
      let first = try await Self.run(Self.records, component)
      #expect(first.exportEnded)
      func bucket(_ id: String, _ name: String, _ updatedMs: Int64) -> String {
        "{\"recordName\":\"\(id)\",\"recordType\":\"Bucket\",\"fields\":{\"name\":\"\(name)\",\"createdAt\":0,\"updatedAt\":\(updatedMs)}}"
      }
      let second = try await Self.run(
        "[\(bucket("b1", "Older", 0)),\(bucket("b2", "Two", 5))]", component)
      #expect(!second.exportEnded)
      #expect(second.assets.map(\.recordCount) == [2, 2])
      let text = try await component.text("buckets.json")
      #expect(text.contains("\"News\"") && text.contains("\"Two\"") && !text.contains("Older"))
      _ = try await Self.run("[\(bucket("b1", "Newer", 1_900_000_000_000))]", component)
      #expect(try await component.text("buckets.json").contains("Newer"))
      #expect(try await component.history("buckets.json", conflictsOnly: true).isEmpty)
    }
  }

  @Test("each invalid record has its own error, and the others are imported")
  func reportsEachRecord() async throws {
    let json = #"""
      [1,{"recordType":"Bucket"},{"recordName":"x","recordType":"Folder"},
       {"recordName":"b","recordType":"Bucket","fields":{"name":{"value":7},"createdAt":{"value":"then"}}},
       {"recordName":"n","recordType":"Notification","fields":{"title":"T","bucketId":"b","createdAt":0,"updatedAt":0,
        "attachments":"[{}]","actions":"{","tapAction":{"type":"DELETE","destructive":1}}},
       {"recordName":"ok","recordType":"Bucket","fields":{"name":"Fine","createdAt":0,"updatedAt":0}},
       {"recordName":"ok","recordType":"Bucket","fields":{"name":"Twice","createdAt":0,"updatedAt":0}}]
      """#
    try await Fixture().run { component in
      let made = try await Self.run(json, component)
      #expect(made.bucketCount == 1)
      #expect(made.errors.map(\.index) == [0, 1, 2, 3, 4, 6])
      #expect(made.errors.map(\.recordName) == ["", "", "x", "b", "n", "ok"])
      let found = made.errors.map { error in
        (error.error?.violations ?? []).map { "\($0.field) \($0.reason)" }
      }
      #expect(found[0] == ["records[0] VALUE_INVALID"])
      #expect(found[1] == ["records[1].recordName REQUIRED"])
      #expect(found[2] == ["records[2].recordType ENUM_UNKNOWN"])
      #expect(
        found[3] == [
          "records[3].fields.name VALUE_INVALID", "records[3].fields.createdAt TIME_INVALID",
          "records[3].fields.updatedAt REQUIRED",
        ])
      #expect(
        found[4] == [
          "records[4].fields.attachments[0].mediaType REQUIRED", "records[4].fields.actions JSON_INVALID",
          "records[4].fields.tapAction.destructive VALUE_INVALID",
        ])
      #expect(found[5] == ["records[6].recordName NAME_REPEATED"])
      #expect(try await component.list().assets.map(\.recordCount) == [1, 0])
      #expect(made.errors.allSatisfy { $0.error?.code == 3 })
    }
  }

  @Test func refusesImports() async throws {
    var limits = SyncLimits()
    limits.inlineBytesMax = 1_000
    try await Fixture(limits).run { component in
      #expect(await refusal { try await Self.run("", component) } == "INVALID_ARGUMENT REQUIRED")
      #expect(await refusal { try await Self.run("{", component) } == "INVALID_ARGUMENT JSON_INVALID")
      #expect(await refusal { try await Self.run("{}", component) } == "INVALID_ARGUMENT VALUE_INVALID")
      #expect(
        await refusal { try await Self.run("[" + String(repeating: " ", count: 999) + "]", component) }
          == "INVALID_ARGUMENT CONTENT_TOO_LARGE")
      #expect(
        await refusal { try await Self.run("[]", device: "watch", component) } == "PERMISSION_DENIED DEVICE_READ_ONLY")
      #expect(try await Self.run("[]", component) == ImportRecordsResponse())
      #expect(try await component.list().revision == 0)
      try await component.put("buckets.json", "[]")
      let bucket =
        "[{\"recordName\":\"b\",\"recordType\":\"Bucket\",\"fields\":{\"name\":\"n\",\"createdAt\":0,\"updatedAt\":0}}]"
      #expect(
        await refusal { try await Self.run(bucket, component) } == "FAILED_PRECONDITION CONTAINER_INVALID")
    }
    try await Fixture().run { component in
      let many = "[" + Array(repeating: "1", count: 5_001).joined(separator: ",") + "]"
      #expect(await refusal { try await Self.run(many, component) } == "INVALID_ARGUMENT TOO_MANY")
    }
  }
}
