import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import Testing

@testable import Sync

/// Calls every unary method without credentials and as a stranger. Objects of anna look missing to them.
@Suite struct ForeignAccessTests {
  private typealias Call = @Sendable (SyncComponent, CallContext) async throws -> Void
  private static let zone = "Private"
  private static let unknownZone = "NOT_FOUND ZONE_NOT_FOUND"
  private static let unknownDevice = "NOT_FOUND DEVICE_NOT_FOUND"

  private static let calls: [(MethodDescriptor, String, Call)] = [
    (ZonesServiceMethods.createZone, "", { _ = try await $0.zones.createZone(.init(zoneId: zone), context: $1) }),
    (ZonesServiceMethods.getZone, "", { _ = try await $0.zones.getZone(.init(zoneId: zone), context: $1) }),
    (ZonesServiceMethods.listZones, "", { _ = try await $0.zones.listZones(.init(), context: $1) }),
    (
      ZonesServiceMethods.listZoneChanges, "",
      { _ = try await $0.zones.listZoneChanges(.init(zoneId: zone), context: $1) }
    ),
    (
      ZonesServiceMethods.updateZone, "",
      { _ = try await $0.zones.updateZone(.init(zoneId: zone), context: $1) }
    ),
    (
      ZonesServiceMethods.deleteZone, "",
      { _ = try await $0.zones.deleteZone(.init(zoneId: zone, force: true), context: $1) }
    ),
    (
      AssetsServiceMethods.putAsset, unknownDevice,
      { _ = try await $0.assets.putAsset(.init(zoneId: zone, deviceId: "phone", put: .of("a", "1")), context: $1) }
    ),
    (
      AssetsServiceMethods.commitAssets, unknownDevice,
      { component, context in
        let put = AssetPut.of("a", "1")
        _ = try await component.assets.commitAssets(
          .init(zoneId: zone, deviceId: "phone", changes: [AssetChange(change: .put(put))]), context: context)
      }
    ),
    (
      AssetsServiceMethods.importRecords, unknownDevice,
      {
        _ = try await $0.assets.importRecords(
          .init(zoneId: zone, deviceId: "phone", recordsJson: "[]"), context: $1)
      }
    ),
    (
      AssetsServiceMethods.getAsset, unknownZone,
      { _ = try await $0.assets.getAsset(.init(zoneId: zone, name: "a"), context: $1) }
    ),
    (
      AssetsServiceMethods.listAssets, unknownZone,
      { _ = try await $0.assets.listAssets(.init(zoneId: zone), context: $1) }
    ),
    (
      AssetsServiceMethods.deleteAsset, unknownDevice,
      { _ = try await $0.assets.deleteAsset(.init(zoneId: zone, deviceId: "phone", name: "a"), context: $1) }
    ),
    (
      AssetsServiceMethods.patchAsset, unknownDevice,
      {
        _ = try await $0.assets.patchAsset(
          .init(zoneId: zone, deviceId: "phone", name: "a", etag: "v1", patch: .mergePatch("{}")), context: $1)
      }
    ),
    (
      AssetsServiceMethods.getAssetDelta, unknownZone,
      { _ = try await $0.assets.getAssetDelta(.init(zoneId: zone, name: "a"), context: $1) }
    ),
    (
      AssetsServiceMethods.listAssetVersions, unknownZone,
      { _ = try await $0.assets.listAssetVersions(.init(zoneId: zone, name: "a"), context: $1) }
    ),
    (
      AssetsServiceMethods.restoreAssetVersion, unknownZone,
      {
        _ = try await $0.assets.restoreAssetVersion(
          .init(zoneId: zone, deviceId: "phone", name: "a", version: 1), context: $1)
      }
    ),
    (
      AssetsServiceMethods.resolveAssetConflict, unknownDevice,
      {
        _ = try await $0.assets.resolveAssetConflict(
          .init(zoneId: zone, deviceId: "phone", name: "a", version: 1), context: $1)
      }
    ),
    (UploadsServiceMethods.createUpload, unknownDevice, { _ = try await $0.createUpload([0x31], $1) }),
    (
      UploadsServiceMethods.cancelUpload, "",
      { _ = try await $0.uploads.cancelUpload(.init(uploadId: "u_1"), context: $1) }
    ),
    (
      UploadsServiceMethods.getUpload, "NOT_FOUND UPLOAD_NOT_FOUND",
      { _ = try await $0.uploads.getUpload(.init(uploadId: "u_1"), context: $1) }
    ),
    (DevicesServiceMethods.registerDevice, "", { try await $0.register("own", .writer, $1) }),
    (DevicesServiceMethods.listSyncDevices, "", { _ = try await $0.devices.listSyncDevices(.init(), context: $1) }),
    (
      DevicesServiceMethods.unregisterDevice, unknownDevice,
      { _ = try await $0.devices.unregisterDevice(.init(deviceId: "phone"), context: $1) }
    ),
    (
      DevicesServiceMethods.setSubscriptions, unknownDevice,
      { _ = try await $0.devices.setSubscriptions(.init(deviceId: "phone"), context: $1) }
    ),
    (
      DevicesServiceMethods.publishUpdate, unknownDevice,
      {
        _ = try await $0.devices.publishUpdate(
          .init(
            deviceId: "phone", requestId: "m",
            message: SyncUpdateMessage(type: .fullSync, eventTime: ProtoTimestamp(seconds: 1))), context: $1)
      }
    ),
    (
      DevicesServiceMethods.listUpdates, unknownDevice,
      { _ = try await $0.devices.listUpdates(.init(deviceId: "phone"), context: $1) }
    ),
    (
      DevicesServiceMethods.acknowledgeUpdates, unknownDevice,
      { _ = try await $0.devices.acknowledgeUpdates(.init(deviceId: "phone"), context: $1) }
    ),
  ]

  @Test func objectsLookMissingToStrangers() async throws {
    try await Fixture().run { component in
      _ = try await component.zones.createZone(.init(zoneId: Self.zone), context: anna)
      try await component.put("a", "1", zone: Self.zone)
      // A stranger may create a zone or device of the same name, which then belongs to the stranger.
      for (method, expected, call) in Self.calls where method.kind == .unary {
        let stranger = user("stranger")
        #expect(await refusal { try await call(component, nobody) } == "UNAUTHENTICATED PRINCIPAL_MISSING")
        let service = CallContext(method: anyMethod, principal: Principal(kind: .service, id: "x"))
        #expect(await refusal { try await call(component, service) } == "PERMISSION_DENIED PRINCIPAL_NOT_USER")
        #expect(await refusal { try await call(component, stranger) } == expected, "\(method.path)")
      }
      #expect(try await component.zones.listZones(.init(), context: anna).zones.map(\.id) == [Self.zone])
      let kept = try await component.assets.getAsset(.init(zoneId: Self.zone, name: "a"), context: anna)
      #expect(kept.asset?.version == 1)
    }
  }

  @Test func coversEveryMethod() {
    let all = [
      ZonesServiceMethods.all, AssetsServiceMethods.all, UploadsServiceMethods.all, DevicesServiceMethods.all,
    ].joined().filter { $0.kind == .unary && $0.scope != "sync:operate" }.map(\.path)
    #expect(Set(all) == Set(Self.calls.map(\.0.path)))
  }
}
