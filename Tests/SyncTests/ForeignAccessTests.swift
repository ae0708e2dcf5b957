import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import Testing

@testable import Sync

/// Calls every unary method without credentials and as a stranger. Objects of anna look missing to them.
@Suite struct ForeignAccessTests {
  private typealias Call = @Sendable (SyncComponent, CallContext) async throws -> Void
  private static let zone = "Private"
  private static let unknownZone = "NOT_FOUND ZONE_NOT_FOUND"
  private static let unknownDevice = "NOT_FOUND DEVICE_NOT_FOUND"

  private static let calls: [(MethodDescriptor, String, Call)] = [
    (ZonesServiceMethods.createZone, "", { _ = try await $0.zones.createZone(.with { $0.zone = zone }, context: $1) }),
    (ZonesServiceMethods.getZone, "", { _ = try await $0.zones.getZone(.with { $0.zone = zone }, context: $1) }),
    (ZonesServiceMethods.listZones, "", { _ = try await $0.zones.listZones(.init(), context: $1) }),
    (
      ZonesServiceMethods.listZoneChanges, "",
      { _ = try await $0.zones.listZoneChanges(.with { $0.zone = zone }, context: $1) }
    ),
    (
      ZonesServiceMethods.deleteZone, "",
      { component, context in
        _ = try await component.zones.deleteZone(
          .with {
            $0.zone = zone
            $0.force = true
          }, context: context)
      }
    ),
    (
      AssetsServiceMethods.putAsset, unknownDevice,
      { component, context in
        _ = try await component.assets.putAsset(
          .with {
            $0.zone = zone
            $0.deviceId = "phone"
            $0.put = .of("a", "1")
          }, context: context)
      }
    ),
    (
      AssetsServiceMethods.commitAssets, unknownDevice,
      { component, context in
        let put = AssetPut.of("a", "1")
        _ = try await component.assets.commitAssets(
          .with {
            $0.zone = zone
            $0.deviceId = "phone"
            $0.changes = [.with { $0.change = .put(put) }]
          }, context: context)
      }
    ),
    (
      AssetsServiceMethods.getAsset, unknownZone,
      { component, context in
        _ = try await component.assets.getAsset(
          .with {
            $0.zone = zone
            $0.name = "a"
          }, context: context)
      }
    ),
    (
      AssetsServiceMethods.listAssets, unknownZone,
      { _ = try await $0.assets.listAssets(.with { $0.zone = zone }, context: $1) }
    ),
    (
      AssetsServiceMethods.deleteAsset, unknownDevice,
      { component, context in
        _ = try await component.assets.deleteAsset(
          .with {
            $0.zone = zone
            $0.deviceId = "phone"
            $0.name = "a"
          }, context: context)
      }
    ),
    (
      AssetsServiceMethods.patchAsset, unknownDevice,
      { component, context in
        _ = try await component.assets.patchAsset(
          .with {
            $0.zone = zone
            $0.deviceId = "phone"
            $0.name = "a"
            $0.ifMatch = "v1"
            $0.patch = .mergePatch("{}")
          }, context: context)
      }
    ),
    (
      AssetsServiceMethods.getAssetDelta, unknownZone,
      { component, context in
        _ = try await component.assets.getAssetDelta(
          .with {
            $0.zone = zone
            $0.name = "a"
          }, context: context)
      }
    ),
    (
      AssetsServiceMethods.listAssetVersions, unknownZone,
      { component, context in
        _ = try await component.assets.listAssetVersions(
          .with {
            $0.zone = zone
            $0.name = "a"
          }, context: context)
      }
    ),
    (
      AssetsServiceMethods.restoreAssetVersion, unknownZone,
      { component, context in
        _ = try await component.assets.restoreAssetVersion(
          .with {
            $0.zone = zone
            $0.deviceId = "phone"
            $0.name = "a"
            $0.version = 1
          }, context: context)
      }
    ),
    (
      AssetsServiceMethods.resolveAssetConflict, unknownDevice,
      { component, context in
        _ = try await component.assets.resolveAssetConflict(
          .with {
            $0.zone = zone
            $0.deviceId = "phone"
            $0.name = "a"
            $0.version = 1
          }, context: context)
      }
    ),
    (
      UploadsServiceMethods.createUpload, unknownDevice,
      { component, context in
        _ = try await component.createUpload([0x31], context)
      }
    ),
    (
      UploadsServiceMethods.cancelUpload, "",
      { _ = try await $0.uploads.cancelUpload(.with { $0.uploadId = "u_1" }, context: $1) }
    ),
    (
      UploadsServiceMethods.getUpload, "NOT_FOUND UPLOAD_NOT_FOUND",
      { _ = try await $0.uploads.getUpload(.with { $0.uploadId = "u_1" }, context: $1) }
    ),
    (
      DevicesServiceMethods.registerDevice, "",
      { try await $0.register("own", .writer, $1) }
    ),
    (DevicesServiceMethods.listSyncDevices, "", { _ = try await $0.devices.listSyncDevices(.init(), context: $1) }),
    (
      DevicesServiceMethods.unregisterDevice, unknownDevice,
      { _ = try await $0.devices.unregisterDevice(.with { $0.deviceId = "phone" }, context: $1) }
    ),
    (
      DevicesServiceMethods.publishUpdate, unknownDevice,
      { component, context in
        _ = try await component.devices.publishUpdate(
          .with {
            $0.deviceId = "phone"
            $0.mutationId = "m"
            $0.message = .with {
              $0.type = .fullSync
              $0.timestamp = ProtoTimestamp(seconds: 1)
            }
          }, context: context)
      }
    ),
    (
      DevicesServiceMethods.listUpdates, unknownDevice,
      { _ = try await $0.devices.listUpdates(.with { $0.deviceId = "phone" }, context: $1) }
    ),
    (
      DevicesServiceMethods.acknowledgeUpdates, unknownDevice,
      { _ = try await $0.devices.acknowledgeUpdates(.with { $0.deviceId = "phone" }, context: $1) }
    ),
  ]

  @Test func objectsLookMissingToStrangers() async throws {
    try await Fixture().run { component in
      _ = try await component.zones.createZone(.with { $0.zone = Self.zone }, context: anna)
      try await component.put("a", "1", zone: Self.zone)
      // A stranger may create a zone or device of the same name, which then belongs to the stranger.
      for (method, expected, call) in Self.calls where method.kind == .unary {
        let stranger = user("stranger")
        #expect(await refusal { try await call(component, nobody) } == "UNAUTHENTICATED PRINCIPAL_MISSING")
        let service = CallContext(method: anyMethod, principal: Principal(kind: .service, id: "x"))
        #expect(await refusal { try await call(component, service) } == "PERMISSION_DENIED PRINCIPAL_NOT_USER")
        #expect(await refusal { try await call(component, stranger) } == expected, "\(method.path)")
      }
      #expect(try await component.zones.listZones(.init(), context: anna).zones.map(\.name) == [Self.zone])
      let kept = try await component.assets.getAsset(
        .with {
          $0.zone = Self.zone
          $0.name = "a"
        }, context: anna)
      #expect(kept.asset?.version == 1)
    }
  }

  @Test func coversEveryMethod() {
    let all = [
      ZonesServiceMethods.all, AssetsServiceMethods.all, UploadsServiceMethods.all, DevicesServiceMethods.all,
    ].joined().filter { $0.kind == .unary }.map(\.path)
    #expect(Set(all) == Set(Self.calls.map(\.0.path)))
  }
}
