import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore
import ServiceTesting
import TestSupport
import Testing

@testable import Sync

@Suite(.onSQLite) struct MigrationTests {
  /// Renames fields in stored messages back to those of the earlier format.
  private static let downgradeSQL = [
    "UPDATE uploads SET facts_json = replace(facts_json, '\"syncTime\":', '\"syncTimestamp\":')",
    "UPDATE messages SET payload = CAST(replace(CAST(payload AS TEXT), '\"eventTime\":', '\"timestamp\":') AS BLOB)",
    """
    UPDATE store_outbox SET payload = CAST(replace(CAST(payload AS TEXT), '"eventTime":', '"timestamp":') AS BLOB)
    """,
  ]

  /// Reverts the migrations since 0004 in a closed database, and removes the migrations with these names from its list.
  private func revert(_ fixture: Fixture, _ identifiers: String...) async throws {
    var configuration = StoreConfiguration(path: fixture.path("sync.sqlite"))
    configuration.durability = .normal
    let revert = Migration(
      "9999-revert",
      """
      DROP INDEX subscriptions_device;
      DROP TABLE subscriptions;
      DROP INDEX wakes_due;
      DROP TABLE wakes;
      ALTER TABLE zones DROP COLUMN is_export_ended;
      ALTER TABLE devices DROP COLUMN wakes_for_updates;
      ALTER TABLE devices DROP COLUMN app;
      ALTER TABLE devices DROP COLUMN installation_id;
      ALTER TABLE devices DROP COLUMN wakes_spent_ms;
      ALTER TABLE devices DROP COLUMN woken_at_ms;
      ALTER TABLE uploads DROP COLUMN writer_epoch;
      DROP TABLE awake_devices;
      """)
    let store = try Store(configuration, migrations: SyncMigrations.all + [revert])
    try await store.write { transaction in
      let later = ["0005-content-chunks", "0006-upload-writers", "0007-awake-devices", revert.identifier]
      for identifier in identifiers + later {
        try transaction.execute("DELETE FROM schema_migrations WHERE identifier = $1", [.text(identifier)])
      }
    }
    await store.close()
  }

  @Test func messagesAndUploadsOfAnEarlierFormatAreUnchanged() async throws {
    let fixture = try Fixture()
    let content = Array("{\"buckets\":[],\"syncTimestamp\":\"2026-01-01T00:00:00Z\"}".utf8)
    let entity = "\"timestamp\":\"n_1\""
    var id = ""
    var published: [SyncUpdate] = []
    try await fixture.run(link: FakeNotifications()) { component in
      id = try await component.createUpload(content, type: "BucketsData").id
      try await component.send(id, content)
      _ = try await component.publish(.notificationRead, entity, id: "m1")
      _ = try await component.zones.createZone(.init(zoneId: "Z", requestId: "r"), context: anna)
      published = try await component.updates("phone")
      #expect(published.first?.message?.eventTime != nil)
      try await component.store.write { transaction in
        for sql in Self.downgradeSQL { try transaction.execute(sql) }
      }
    }
    try await revert(fixture, "0003-time-fields", "0004-ended-exports-and-wakes")
    let link = FakeNotifications()
    try await fixture.run(link: link) { component in
      #expect(try await component.updates("phone") == published)
      // The message is recognized as the same one, and is still delivered to the notifications.
      #expect(try await component.publish(.notificationRead, entity, id: "m1").sequence == 1)
      #expect(try await component.relay?.deliverDue().delivered == 1)
      #expect(link.calls == ["read anna \(entity)"])
      let put = try await component.putUpload("b", id, type: "BucketsData")
      #expect(put.asset?.syncTime?.millisecondsSince1970 == 1_767_225_600_000)
      // Stored replies have the earlier format and are gone.
      #expect(
        await refusal { try await component.zones.createZone(.init(zoneId: "Z", requestId: "r"), context: anna) }
          == "ALREADY_EXISTS ZONE_EXISTS")
    }
  }

  @Test("files that a device wrote before are still its own")
  func filesOfDevicesAreKept() async throws {
    let fixture = try Fixture()
    let link = FakeNotifications()
    try await fixture.run(link: link) { component in
      try await component.put("buckets.json", "{\"buckets\":[],\"syncTimestamp\":\"2026-01-01T00:00:00Z\"}") {
        $0.recordType = "BucketsData"
      }
      try await component.register("pad", .writer, bruno)
      fixture.clock.advance(by: .seconds(1))
      _ = try await component.exporter?.step()
    }
    try await revert(fixture, "0004-ended-exports-and-wakes")
    try await fixture.run(link: link) { component in
      #expect(try await component.zone().exportsNotifications == false)
      let other = try await component.zones.getZone(.init(), context: bruno).zone
      #expect(other?.exportsNotifications == true && other?.revision == 1)
      let devices = try await component.devices.listSyncDevices(.init(), context: anna).devices
      #expect(devices.map(\.installationId) == ["phone", "watch"])
      #expect(devices.allSatisfy { $0.subscriptions.isEmpty && !$0.wakesForUpdates })
    }
  }
}
