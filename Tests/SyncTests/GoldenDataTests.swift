import CampanileAPI
import CampanileCodec
import CampanileRPC
import ServiceTesting
import TestSupport
import Testing

@testable import Sync

/// Data that earlier versions have written are the same after the upgrade.
@Suite struct GoldenDataTests {
  private static let golden = GoldenData()

  @Test(arguments: golden.dumps) func dataOfEarlierVersionsAreUnchanged(_ dump: GoldenData.Dump) async throws {
    let fixture = try Fixture()
    try await Self.golden.load(
      dump, into: fixture.path("sync.sqlite"), migrations: SyncMigrations.all, omitting: SyncMove.unmovedTables,
      finishing: SyncMove.finishing
    ) { source, target in
      _ = try SyncMove.copyContents(from: (source, fixture.path("data")), to: (target, fixture.path("data")))
    }
    let component = try await fixture.open()
    #expect(try await answers(component) == Self.golden.answers(dump))
    await component.close()
  }

  @Test(.whenWritingGoldenData) func writeData() async throws {
    let fixture = try Fixture()
    var answers: [String] = []
    // Contents stay in the journal, and so in the database.
    try await fixture.run { component in
      try await component.put("notes-a", #"{"a":1}"#)
      try await component.put("notes-a", #"{"a":2}"#)
      try await component.register("tablet", .writer)
      try await component.put("notes-a", #"{"a":3}"#, device: "tablet") { $0.baseEtag = "\"1\"" }
      try await component.put("notes-gone", "[]")
      _ = try await component.assets.deleteAsset(.init(deviceId: "phone", name: "notes-gone"), context: anna)
      _ = try await component.zones.createZone(.init(zoneId: "second"), context: anna)
      try await component.put("b", "[1,2]", zone: "second")
      _ = try await component.publish(.notificationRead, "n_1", id: "r_1")
      _ = try await component.createUpload(Array("[9]".utf8))
      try await component.register("phone", .writer, bruno)
      try await component.put("own", "[3]", bruno)
      answers = try await self.answers(component)
    }
    try Self.golden.write(fixture.path("sync.sqlite"), answers: answers)
  }

  private func answers(_ component: SyncComponent) async throws -> [String] {
    var answers: [String] = []
    for context in [anna, bruno] {
      answers += try await [
        component.zones.listZones(.init(), context: context).jsonString(),
        component.assets.listAssets(.init(), context: context).jsonString(),
        component.zones.listZoneChanges(.init(fromStart: true), context: context).jsonString(),
        component.devices.listSyncDevices(.init(), context: context).jsonString(),
      ]
    }
    answers += try await [
      component.assets.listAssetVersions(.init(name: "notes-a"), context: anna).jsonString(),
      component.assets.getAsset(.init(name: "notes-a", includeContent: true), context: anna).jsonString(),
      component.assets.getAsset(.init(name: "notes-a", version: 1, includeContent: true), context: anna).jsonString(),
      component.assets.listAssets(.init(zoneId: "second"), context: anna).jsonString(),
      component.devices.listUpdates(.init(deviceId: "phone"), context: anna).jsonString(),
      component.assets.getAsset(.init(name: "own", includeContent: true), context: bruno).jsonString(),
    ]
    return answers
  }
}
