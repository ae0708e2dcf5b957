import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import Testing

@testable import Sync

/// Calls with a credential that is bound to a device.
@Suite struct BoundDeviceTests {
  private static func anna(_ device: String) -> CallContext {
    CallContext(method: anyMethod, principal: Principal(kind: .user, id: "anna", deviceID: device))
  }

  private static let mismatch = "PERMISSION_DENIED DEVICE_MISMATCH"
  private static let readOnly = "PERMISSION_DENIED DEVICE_READ_ONLY"

  private typealias Call = @Sendable (SyncComponent, CallContext) async throws -> Void
  /// Every call that names a device, here the phone.
  private static let calls: [(MethodDescriptor, Call)] = [
    (AssetsServiceMethods.putAsset, { _ = try await $0.put("a", "1", device: "phone", $1) }),
    (
      AssetsServiceMethods.commitAssets,
      {
        _ = try await $0.assets.commitAssets(
          .init(deviceId: "phone", changes: [AssetChange(change: .put(.of("a", "1")))]), context: $1)
      }
    ),
    (
      AssetsServiceMethods.importRecords,
      { _ = try await $0.assets.importRecords(.init(deviceId: "phone", recordsJson: "[]"), context: $1) }
    ),
    (
      AssetsServiceMethods.deleteAsset,
      { _ = try await $0.assets.deleteAsset(.init(deviceId: "phone", name: "a"), context: $1) }
    ),
    (
      AssetsServiceMethods.patchAsset,
      {
        _ = try await $0.assets.patchAsset(
          .init(deviceId: "phone", name: "a", etag: "v1", patch: .mergePatch("{}")), context: $1)
      }
    ),
    (
      AssetsServiceMethods.restoreAssetVersion,
      { _ = try await $0.assets.restoreAssetVersion(.init(deviceId: "phone", name: "a", version: 1), context: $1) }
    ),
    (
      AssetsServiceMethods.resolveAssetConflict,
      { _ = try await $0.assets.resolveAssetConflict(.init(deviceId: "phone", name: "a", version: 1), context: $1) }
    ),
    (UploadsServiceMethods.createUpload, { _ = try await $0.createUpload([0x31], $1) }),
    (DevicesServiceMethods.registerDevice, { try await $0.register("phone", .writer, $1) }),
    (
      DevicesServiceMethods.unregisterDevice,
      { _ = try await $0.devices.unregisterDevice(.init(deviceId: "phone"), context: $1) }
    ),
    (
      DevicesServiceMethods.setSubscriptions,
      { _ = try await $0.devices.setSubscriptions(.init(deviceId: "phone"), context: $1) }
    ),
    (
      DevicesServiceMethods.publishUpdate,
      {
        _ = try await $0.devices.publishUpdate(
          .init(
            deviceId: "phone", requestId: "m",
            message: SyncUpdateMessage(type: .fullSync, eventTime: ProtoTimestamp(seconds: 1))), context: $1)
      }
    ),
    (
      DevicesServiceMethods.listUpdates,
      { _ = try await $0.devices.listUpdates(.init(deviceId: "phone"), context: $1) }
    ),
    (
      DevicesServiceMethods.acknowledgeUpdates,
      { _ = try await $0.devices.acknowledgeUpdates(.init(deviceId: "phone"), context: $1) }
    ),
  ]

  @Test("a watch's key cannot name the phone, in any call")
  func otherDevicesAreRefused() async throws {
    try await Fixture().run { component in
      for (method, call) in Self.calls {
        #expect(await refusal { try await call(component, Self.anna("watch")) } == Self.mismatch, "\(method.path)")
      }
      // Watches are refused before they start.
      let start = await failure { try Self.anna("watch").requireUser(of: "phone") }
      #expect(start?.reason == "DEVICE_MISMATCH")
      #expect(start?.fieldViolations.first?.field == "deviceId")
    }
  }

  @Test func everyMethodWithADeviceIsCovered() {
    let withDevice = [AssetsServiceMethods.all, UploadsServiceMethods.all, DevicesServiceMethods.all].joined()
      .filter { $0.kind == .unary && !$0.path.contains("/Get") && !$0.path.hasSuffix("/CancelUpload") }
      .filter { !$0.path.contains("/List") || $0.path.hasSuffix("/ListUpdates") }
    #expect(Set(withDevice.map(\.path)) == Set(Self.calls.map(\.0.path)))
  }

  @Test("a reader stays a reader")
  func readersCannotBecomeWriters() async throws {
    try await Fixture().run { component in
      let watch = Self.anna("watch")
      #expect(
        await refusal { try await component.devices.unregisterDevice(.init(deviceId: "watch"), context: watch) }
          == Self.readOnly)
      #expect(
        await refusal { try await component.register("watch", .writer, watch) }
          == "FAILED_PRECONDITION ROLE_FIXED")
      #expect(await refusal { try await component.put("a", "1", device: "watch", watch) } == Self.readOnly)
      // Changes that name no device.
      #expect(
        await refusal { try await component.zones.createZone(.init(zoneId: "Z"), context: watch) } == Self.readOnly)
      #expect(await refusal { try await component.zones.updateZone(.init(), context: watch) } == Self.readOnly)
      #expect(await refusal { try await component.zones.deleteZone(.init(), context: watch) } == Self.readOnly)
      #expect(
        await refusal { try await component.uploads.cancelUpload(.init(uploadId: "u"), context: watch) }
          == Self.readOnly)
      #expect(
        await refusal { try await component.zones.createZone(.init(zoneId: "Z"), context: Self.anna("tv")) }
          == "NOT_FOUND DEVICE_NOT_FOUND")
      // The calls of a watch.
      _ = try await component.devices.publishUpdate(
        .init(
          deviceId: "watch", requestId: "m",
          message: SyncUpdateMessage(type: .fullSync, eventTime: ProtoTimestamp(seconds: 1))), context: watch)
      _ = try await component.devices.acknowledgeUpdates(.init(deviceId: "watch", throughSequence: 1), context: watch)
      _ = try await component.assets.listAssets(.init(), context: watch)
      _ = try await component.zones.getZone(.init(), context: watch)
      // A writer may unregister itself.
      let phone = Self.anna("phone")
      try await component.put("a", "1", device: "phone", phone)
      _ = try await component.zones.createZone(.init(zoneId: "Z"), context: phone)
      _ = try await component.devices.unregisterDevice(.init(deviceId: "phone"), context: phone)
    }
  }

  @Test func scopesOfAWatchSuffice() {
    for method in [DevicesServiceMethods.acknowledgeUpdates, DevicesServiceMethods.setSubscriptions] {
      #expect(method.scope == "sync:publish")
    }
  }
}
