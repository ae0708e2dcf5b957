import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileStore
import FoundationEssentials
import ServiceTesting
import Testing

@testable import Sync

/// The app's model of a message, as its source declares it.
private struct AppSyncUpdateMessage: Codable {
  enum UpdateType: String, Codable, CaseIterable {
    case notificationRead, notificationDeleted, bucketCreated, bucketUpdated, bucketDeleted, fullSync
  }
  let type: UpdateType
  let entityId: String?
  let timestamp: String
}

/// Bytes and names of the app's own models.
@Suite struct AppClientTests {
  private static func publish(
    _ json: String, id: String, _ component: SyncComponent
  ) async throws -> PublishUpdateResponse {
    try await component.devices.publishUpdate(
      .init(deviceId: "watch", requestId: id, messageJson: json), context: anna)
  }

  @Test("the app's encoder and decoder exchange every type of message")
  func messagesAreTheAppsOwn() async throws {
    try await Fixture().run { component in
      for (index, type) in AppSyncUpdateMessage.UpdateType.allCases.enumerated() {
        let sent = AppSyncUpdateMessage(
          type: type, entityId: type == .fullSync ? nil : "id/\(index) \"x\"", timestamp: "2025-11-08T10:00:00Z")
        let bytes = try JSONEncoder().encode(sent)
        _ = try await Self.publish(String(decoding: bytes, as: UTF8.self), id: "m\(index)", component)
      }
      let updates = try await component.updates("phone")
      #expect(updates.count == 6)
      for (update, type) in zip(updates, AppSyncUpdateMessage.UpdateType.allCases) {
        let got = try JSONDecoder().decode(AppSyncUpdateMessage.self, from: Data(update.messageJson.utf8))
        #expect(got.type == type)
        #expect(got.entityId == (type == .fullSync ? nil : update.message?.entityId))
        #expect(got.timestamp == "2025-11-08T10:00:00Z")
      }
      #expect(updates.first?.message?.type == .notificationRead)
      // A repetition in the other form is the same message.
      let again = try await component.devices.publishUpdate(
        .init(deviceId: "watch", requestId: "m5", message: updates[5].message), context: anna)
      #expect(again.sequence == 6)
    }
  }

  @Test(arguments: [
    ("{", "JSON_INVALID", "messageJson"), ("{}", "FIELDS_INVALID", "messageJson.type"),
    (
      "{\"type\":\"SYNC_UPDATE_TYPE_FULL_SYNC\",\"timestamp\":\"2025-11-08T10:00:00Z\"}", "ENUM_UNKNOWN",
      "messageJson.type"
    ),
    ("{\"type\":\"fullSync\",\"timestamp\":\"yesterday\"}", "TIME_INVALID", "messageJson.timestamp"),
    ("{\"type\":\"fullSync\",\"timestamp\":5}", "VALUE_INVALID", "messageJson.timestamp"),
    ("{\"type\":\"notificationRead\",\"timestamp\":\"2025-11-08T10:00:00Z\"}", "REQUIRED", "messageJson.entityId"),
    (
      "{\"type\":\"fullSync\",\"entityId\":[],\"timestamp\":\"2025-11-08T10:00:00Z\"}", "VALUE_INVALID",
      "messageJson.entityId"
    ),
  ])
  func invalidMessagesNameTheMember(json: String, reason: String, field: String) async throws {
    try await Fixture().run { component in
      let error = await failure { try await Self.publish(json, id: "m", component) }
      #expect(error?.code == .invalidArgument && error?.reason == reason)
      #expect(error?.fieldViolations.first?.field == field)
    }
  }

  @Test func aMessageHasOneForm() async throws {
    try await Fixture().run { component in
      let json = "{\"type\":\"fullSync\",\"timestamp\":\"2025-11-08T10:00:00Z\"}"
      let message = SyncUpdateMessage(type: .fullSync, eventTime: ProtoTimestamp(seconds: 1))
      #expect(
        await refusal {
          try await component.devices.publishUpdate(
            .init(deviceId: "watch", requestId: "m", message: message, messageJson: json), context: anna)
        } == "INVALID_ARGUMENT FIELD_NOT_ALLOWED")
      #expect(
        await refusal {
          try await component.devices.publishUpdate(.init(deviceId: "watch", requestId: "m"), context: anna)
        } == "INVALID_ARGUMENT REQUIRED")
    }
  }

  @Test("the apps' record names are names of the files")
  func recordNamesNameTheFiles() async throws {
    let container = "{\"buckets\":[],\"syncTimestamp\":\"2026-01-01T00:00:00Z\"}"
    try await Fixture().run { component in
      func put(_ name: String, zone: String = "") async throws -> Asset {
        let put = try await component.put(name, container, zone: zone) { $0.recordType = "BucketsData" }
        return try #require(put.asset)
      }
      let first = try await put("buckets_data")
      #expect(first.name == "buckets.json")
      #expect(try await component.text("buckets_data") == container)
      #expect(try await component.text("buckets.json") == container)
      let second = try await put("buckets.json")
      #expect(try await component.history("buckets_data").map { $0.asset?.version } == [second.version, first.version])
      #expect(
        await refusal {
          try await component.commit([
            AssetChange(change: .put(.of("notifications_data", "1"))),
            AssetChange(change: .put(.of("notifications.json", "1"))),
          ])
        } == "INVALID_ARGUMENT NAME_REPEATED")
      // Only in the apps' zone.
      _ = try await component.zones.createZone(.init(zoneId: "Z"), context: anna)
      #expect(try await put("buckets_data", zone: "Z").name == "buckets_data")
      // An asset that was stored under such a name before keeps it.
      try await component.store.write { transaction in
        try transaction.execute("UPDATE versions SET name = 'buckets_data' WHERE name = 'buckets.json'")
        try transaction.execute("UPDATE assets SET name = 'buckets_data' WHERE name = 'buckets.json'")
      }
      #expect(try await put("buckets_data").name == "buckets_data")
      #expect(try await component.text("buckets_data") == container)
      #expect(await refusal { try await component.text("buckets.json") } == "NOT_FOUND ASSET_NOT_FOUND")
    }
  }

  @Test("changes are filtered by type and name, and the position passes the others")
  func changesAreFiltered() async throws {
    try await Fixture().run { component in
      let token = try await component.zones.listZoneChanges(.init(), context: anna).resumeToken
      try await component.put("a", "1")
      try await component.put("buckets_data", "{\"buckets\":[],\"syncTimestamp\":\"2026-01-01T00:00:00Z\"}") {
        $0.recordType = "BucketsData"
      }
      try await component.put("b", "2")
      _ = try await component.assets.deleteAsset(.init(deviceId: "phone", name: "b"), context: anna)
      func names(types: [String] = [], names: [String] = []) async throws -> [[String]] {
        let response = try await component.zones.listZoneChanges(
          .init(resumeToken: token, recordTypes: types, names: names), context: anna)
        #expect(
          try await component.zones.listZoneChanges(.init(resumeToken: response.resumeToken), context: anna).changes
            .isEmpty)
        return response.changes.map { $0.assets.map(\.name) }
      }
      #expect(try await names(types: ["BucketsData"]) == [["buckets.json"]])
      #expect(try await names(types: ["Note"]) == [["a"], ["b"], ["b"]])
      #expect(try await names(types: ["Note"], names: ["b", "buckets.json"]) == [["b"], ["b"]])
      #expect(try await names(names: ["buckets_data"]) == [["buckets.json"]])
      #expect(try await names(names: ["none"]).isEmpty)
      let deleted = try await component.changes().changes.last?.assets.first
      guard case .assetDeleted(let deletion) = deleted?.change else { throw CancellationError() }
      #expect(deletion.recordType == "Note")
      struct Enough: Error {}
      var seen: [String] = []
      do {
        let filter = ChangeFilter(recordTypes: ["BucketsData"], names: [], zone: "ZentikSyncZone")
        try await ZoneWatch(repository: component.repository, hub: component.devices.hub, filter: filter).run(
          zone: "ZentikSyncZone", start: .oldest, user: "anna"
        ) { response in
          if let change = response.told {
            seen += change.assets.map(\.name)
            throw Enough()
          }
        }
      } catch is Enough {}
      #expect(seen == ["buckets.json"])
    }
  }
}
