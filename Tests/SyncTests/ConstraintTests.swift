import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import ServiceTesting
import Testing

@testable import Sync

/// Every request is checked as a whole: one error names all fields that violate a constraint of the contract or a rule.
@Suite struct ConstraintTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// The fields with their reasons, in order.
    var violations: [String]
    var call: @Sendable (SyncComponent) async throws -> Void

    init(_ name: String, _ violations: [String], _ call: @escaping @Sendable (SyncComponent) async throws -> Void) {
      (testDescription, self.violations, self.call) = (name, violations, call)
    }
  }

  private static func long(_ count: Int) -> String { String(repeating: "x", count: count) }

  /// A put whose fields violate their constraints.
  private static let badPut = AssetPut(
    name: long(256), recordType: "a b", syncTime: ProtoTimestamp(seconds: .max), recordCount: -1,
    content: .sha256("ABC"), onConflict: .unrecognized(9))
  private static func putViolations(_ path: String) -> [String] {
    [
      "name TOO_LONG", "recordType NAME_INVALID", "recordCount OUT_OF_RANGE", "sha256 HASH_INVALID",
      "onConflict ENUM_UNKNOWN",
    ].map { path + $0 }
  }

  private static let writes: [Row] = [
    Row(
      "PutAsset",
      ["zoneId ID_INVALID", "deviceId REQUIRED"] + putViolations("put.") + [
        "requestId TOO_LONG", "put.syncTime OUT_OF_RANGE",
      ]
    ) {
      _ = try await $0.assets.putAsset(.init(zoneId: "a/b", put: badPut, requestId: long(65)), context: anna)
    },
    Row("PutAsset without a put", ["deviceId ID_INVALID", "put REQUIRED"]) {
      _ = try await $0.assets.putAsset(.init(deviceId: long(129)), context: anna)
    },
    Row(
      "relative paths",
      ["zoneId ID_INVALID", "deviceId ID_INVALID", "put.name NAME_INVALID", "put.recordType NAME_INVALID"]
    ) {
      _ = try await $0.put("..", "1", device: ".", zone: "..") { $0.recordType = "." }
    },
    Row("names with U+0000", ["zoneId ID_INVALID", "deviceId ID_INVALID", "put.name TEXT_INVALID"]) {
      _ = try await $0.put("a\u{0}", "1", device: "a\u{0}", zone: "a\u{0}")
    },
    Row("a put without a content", ["put.content REQUIRED"]) { _ = try await $0.put("a", "1") { $0.content = nil } },
    Row("a put without a policy", ["put.onConflict REQUIRED"]) {
      _ = try await $0.put("a", "1") { $0.onConflict = .unspecified }
    },
    Row(
      "a put with two conditions and a merge",
      ["put.mustNotExist FIELD_NOT_ALLOWED", "put.onConflict FIELD_NOT_ALLOWED"]
    ) {
      _ = try await $0.put("a", "1") { put in
        put.recordType = "BucketsData"
        put.etag = "v1"
        put.mustNotExist = true
        put.onConflict = .merge
      }
    },
    Row("a name with a slash", ["put.name NAME_INVALID"]) { _ = try await $0.put("a/", "1") },
    Row("a put of an upload without its id", ["put.name REQUIRED", "put.uploadId REQUIRED"]) {
      _ = try await $0.put("", "1") { $0.content = .uploadId("") }
    },
    Row(
      "CommitAssets",
      ["deviceId ID_INVALID"] + putViolations("changes[0].put.") + [
        "changes[1].delete.name REQUIRED", "changes[2].change REQUIRED", "requestId TOO_LONG",
        "changes[0].put.syncTime OUT_OF_RANGE",
      ]
    ) {
      _ = try await $0.assets.commitAssets(
        .init(
          deviceId: "a/b", changes: [.init(change: .put(badPut)), .init(change: .delete(.init())), .init()],
          requestId: long(65)), context: anna)
    },
    Row("CommitAssets without changes", ["deviceId REQUIRED", "changes REQUIRED"]) {
      _ = try await $0.assets.commitAssets(.init(), context: anna)
    },
    Row("CommitAssets with 101 changes", ["changes TOO_MANY"]) {
      _ = try await $0.commit((0...100).map { .init(change: .delete(.init(name: "\($0)"))) })
    },
    Row("DeleteAsset", ["zoneId ID_INVALID", "deviceId REQUIRED", "name REQUIRED", "requestId TOO_LONG"]) {
      _ = try await $0.assets.deleteAsset(.init(zoneId: "a b", requestId: long(65)), context: anna)
    },
    Row(
      "PatchAsset",
      [
        "patch REQUIRED", "zoneId ID_INVALID", "deviceId REQUIRED", "name TOO_LONG", "etag REQUIRED",
        "requestId TOO_LONG", "syncTime OUT_OF_RANGE",
      ]
    ) {
      _ = try await $0.assets.patchAsset(
        .init(
          zoneId: long(129), name: long(256), syncTime: ProtoTimestamp(seconds: .max), requestId: long(65)),
        context: anna)
    },
    Row(
      "RestoreAssetVersion",
      ["zoneId ID_INVALID", "deviceId REQUIRED", "name REQUIRED", "version REQUIRED", "requestId TOO_LONG"]
    ) {
      _ = try await $0.assets.restoreAssetVersion(.init(zoneId: "ä", requestId: long(65)), context: anna)
    },
    Row("RestoreAssetVersion of a negative version", ["version OUT_OF_RANGE"]) {
      _ = try await $0.assets.restoreAssetVersion(.init(deviceId: "phone", name: "a", version: -1), context: anna)
    },
    Row(
      "ResolveAssetConflict", ["zoneId ID_INVALID", "deviceId REQUIRED", "name REQUIRED", "version REQUIRED"]
    ) {
      _ = try await $0.assets.resolveAssetConflict(.init(zoneId: "a/b"), context: anna)
    },
    Row("ResolveAssetConflict of a negative version", ["version OUT_OF_RANGE"]) {
      _ = try await $0.assets.resolveAssetConflict(.init(deviceId: "phone", name: "a", version: -1), context: anna)
    },
    Row(
      "CreateUpload",
      [
        "zoneId ID_INVALID", "deviceId REQUIRED", "recordType REQUIRED", "sizeBytes OUT_OF_RANGE",
        "sha256 HASH_INVALID", "requestId TOO_LONG",
      ]
    ) {
      _ = try await $0.uploads.createUpload(.init(zoneId: "a/b", requestId: long(65)), context: anna)
    },
    Row("an upload that is too large", ["deviceId REQUIRED", "recordType NAME_INVALID", "sizeBytes CONTENT_TOO_LARGE"])
    {
      _ = try await $0.uploads.createUpload(
        .init(recordType: "..", sizeBytes: 250_000_001, sha256: String(repeating: "0", count: 64)), context: anna)
    },
  ]

  private static let reads: [Row] = [
    Row("GetAsset", ["zoneId ID_INVALID", "name REQUIRED", "version OUT_OF_RANGE"]) {
      _ = try await $0.assets.getAsset(.init(zoneId: "a/b", version: -1), context: anna)
    },
    Row("ListAssets", ["zoneId ID_INVALID", "pageSize OUT_OF_RANGE"]) {
      _ = try await $0.assets.listAssets(.init(zoneId: "a/b", pageSize: -1), context: anna)
    },
    Row(
      "GetAssetDelta",
      [
        "zoneId ID_INVALID", "name TOO_LONG", "sinceVersion OUT_OF_RANGE", "accept[1] ENUM_UNSPECIFIED",
        "accept[2] ENUM_UNKNOWN",
      ]
    ) {
      _ = try await $0.assets.getAssetDelta(
        .init(
          zoneId: "a/b", name: long(256), sinceVersion: -1, accept: [.bytes, .unspecified, .unrecognized(9)]),
        context: anna)
    },
    Row("ListAssetVersions", ["zoneId ID_INVALID", "name REQUIRED", "pageSize OUT_OF_RANGE"]) {
      _ = try await $0.assets.listAssetVersions(.init(zoneId: "a/b", pageSize: -1), context: anna)
    },
    Row("GetZone", ["zoneId ID_INVALID"]) { _ = try await $0.zones.getZone(.init(zoneId: long(129)), context: anna) },
    Row("CreateZone", ["zoneId ID_INVALID", "requestId TOO_LONG"]) {
      _ = try await $0.zones.createZone(.init(zoneId: "a b", requestId: long(65)), context: anna)
    },
    Row("DeleteZone", ["zoneId ID_INVALID"]) { _ = try await $0.zones.deleteZone(.init(zoneId: "."), context: anna) },
    Row("ListZoneChanges", ["zoneId ID_INVALID", "pageSize OUT_OF_RANGE"]) {
      _ = try await $0.zones.listZoneChanges(.init(zoneId: "a/b", pageSize: -1), context: anna)
    },
  ]

  private static let messages: [Row] = [
    Row("RegisterDevice", ["device.id REQUIRED", "device.role ENUM_UNSPECIFIED", "device.displayName TOO_LONG"]) {
      _ = try await $0.devices.registerDevice(.init(device: .init(displayName: long(101))), context: anna)
    },
    Row("a device with a relative path", ["device.role ENUM_UNKNOWN", "device.id ID_INVALID"]) {
      _ = try await $0.devices.registerDevice(.init(device: .init(id: "..", role: .unrecognized(9))), context: anna)
    },
    Row("RegisterDevice without a device", ["device REQUIRED"]) {
      _ = try await $0.devices.registerDevice(.init(), context: anna)
    },
    Row("ListSyncDevices", ["pageSize OUT_OF_RANGE"]) {
      _ = try await $0.devices.listSyncDevices(.init(pageSize: -1), context: anna)
    },
    Row("UnregisterDevice", ["deviceId REQUIRED"]) {
      _ = try await $0.devices.unregisterDevice(.init(), context: anna)
    },
    Row(
      "PublishUpdate",
      [
        "deviceId REQUIRED", "requestId REQUIRED", "message.type ENUM_UNSPECIFIED", "message.entityId TOO_LONG",
        "message.eventTime REQUIRED",
      ]
    ) {
      _ = try await $0.devices.publishUpdate(.init(message: .init(entityId: long(129))), context: anna)
    },
    Row(
      "an update without an entity",
      ["requestId TOO_LONG", "message.entityId REQUIRED", "message.eventTime OUT_OF_RANGE"]
    ) {
      _ = try await $0.devices.publishUpdate(
        .init(
          deviceId: "phone", requestId: long(65),
          message: .init(type: .bucketCreated, eventTime: ProtoTimestamp(seconds: .max))), context: anna)
    },
    Row("PublishUpdate without a message", ["deviceId REQUIRED", "requestId REQUIRED", "message REQUIRED"]) {
      _ = try await $0.devices.publishUpdate(.init(), context: anna)
    },
    Row("ListUpdates", ["deviceId REQUIRED", "afterSequence OUT_OF_RANGE", "pageSize OUT_OF_RANGE"]) {
      _ = try await $0.devices.listUpdates(.init(afterSequence: -1, pageSize: -1), context: anna)
    },
    Row("AcknowledgeUpdates", ["deviceId REQUIRED", "throughSequence OUT_OF_RANGE"]) {
      _ = try await $0.devices.acknowledgeUpdates(.init(throughSequence: -1), context: anna)
    },
  ]

  @Test(arguments: writes + reads + messages)
  func errorNamesEveryInvalidField(_ row: Row) async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let error = await failure { try await row.call(component) }
      #expect(error?.code == .invalidArgument)
      #expect(error?.fieldViolations.map { "\($0.field) \($0.reason)" } == row.violations)
      let list = try await component.list()
      #expect(list.assets.isEmpty)
      #expect(try fixture.contentFiles() == [])
    }
  }
}
