import CampanileService
import CampanileStore
import ServiceTesting
import SyncContents
import Testing

@testable import Sync

@Suite(.onSQLite) struct QueryPlanTests {
  /// No statement scans a table or sorts, and each list uses its intended index.
  @Test(arguments: [
    (ZoneRow.oneSQL, "sqlite_autoindex_zones_1"), (ZoneRow.listSQL, "sqlite_autoindex_zones_1"),
    (SQLiteSyncRepository.usersSQL, "sqlite_autoindex_users_1"),
    (ZoneRow.updateSQL, "zones_number "), (ZoneRow.deleteSQL, "zones_number "),
    (UserRow.oneSQL, "sqlite_autoindex_users_1"), (VersionRow.oneSQL, "sqlite_autoindex_versions_1"),
    (VersionRow.currentSQL, "sqlite_autoindex_versions_1"), (VersionRow.listSQL, "sqlite_autoindex_assets_1"),
    (VersionRow.historySQL, "sqlite_autoindex_versions_1"), (VersionRow.conflictsSQL, "versions_conflict "),
    (VersionRow.changesSQL, "versions_revision "), (VersionRow.revisionsSQL, "versions_revision "),
    (VersionRow.ofContentSQL, "versions_content "), (VersionRow.lastNumberSQL, "versions_number "),
    (VersionRow.replaceSQL, "sqlite_autoindex_versions_1"), (VersionRow.deleteSQL, "sqlite_autoindex_versions_1"),
    (VersionRow.surplusSQL, "versions_number "), (VersionRow.evictableSQL, "versions_history "),
    (VersionRow.oldSQL, "versions_replaced "), (VersionRow.ofZoneSQL, "versions "),
    (VersionRow.dropCurrentSQL, "sqlite_autoindex_assets_1"),
    (VersionRow.dropAllCurrentSQL, "sqlite_autoindex_assets_1"),
    (ContentTable.existsSQL, "sqlite_autoindex_contents_1"), (ContentTable.retainSQL, "sqlite_autoindex_contents_1"),
    (ContentTable.releaseSQL, "sqlite_autoindex_contents_1"), (ContentTable.unreferencedSQL, "contents_unreferenced "),
    (ContentTable.dropSQL, "sqlite_autoindex_contents_1"), (UploadRow.oneSQL, "uploads_id "),
    (UploadRow.expiredSQL, "uploads_expiry "), (OrphanPurge.uploadSQL, "uploads_id "),
    (DeviceRow.roleSQL, "sqlite_autoindex_devices_1"), (DeviceRow.listSQL, "sqlite_autoindex_devices_1"),
    (MessageRow.ofRequestSQL, "messages_mutation "), (MessageRow.afterSQL, "sqlite_autoindex_messages_1"),
    (MessageRow.surplusSQL, "sqlite_autoindex_messages_1"), (MessageRow.dropOfServiceSQL, "messages_mutation "),
    (MessageRow.dropSQL, "sqlite_autoindex_messages_1"), (MessageRow.oldSQL, "messages_time "),
    (MessageRow.publishedSQL, "sqlite_autoindex_messages_1"), (MessageRow.dropRequestSQL, "messages_mutation "),
    (WakeTable.subscribedSQL, "sqlite_autoindex_subscriptions_1"),
    (WakeTable.listSQL, "sqlite_autoindex_subscriptions_1"),
    (WakeTable.unsubscribeSQL, "subscriptions_device "), (WakeTable.forUpdatesSQL, "sqlite_autoindex_devices_1"),
    (WakeTable.dueSQL, "wakes_due "), (WakeTable.nextSQL, "wakes_due "),
    (WakeTable.doneSQL, "sqlite_autoindex_wakes_1"), (VersionRow.existsSQL, "sqlite_autoindex_assets_1"),
    (ExportQueue.dueSQL, "export_queue_due "), (ExportQueue.nextSQL, "export_queue_due "),
    (ExportQueue.doneSQL, "sqlite_autoindex_export_queue_1"), (SyncRetention.shrinkZoneSQL, "zones_number "),
    (ContentJournal.pageSQL, "sqlite_autoindex_content_journal_1"),
    (ContentFiles.journalFileSQL, "sqlite_autoindex_content_journal_1"),
    (ContentJournal.dropSQL, "sqlite_autoindex_content_journal_1"),
    (SyncRetention.droppedSQL, "sqlite_autoindex_users_1"), (SyncComponent.usersWarnedSQL, "users_used "),
    (SyncComponent.zonesWarnedSQL, "zones_used "), (ContentFiles.pageSQL, "sqlite_autoindex_contents_1"),
  ])
  func usesItsIndex(_ sql: String, _ index: String) async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    try component.store.expectPlan(
      of: sql, uses: index, allowsIndexScans: sql == ExportQueue.nextSQL || sql == WakeTable.nextSQL)
    await component.close()
  }

  @Test("a page of users with a prefix costs the same, however many users precede them")
  func usersBeforeThePrefixAreNotRead() async throws {
    let component = try await Fixture().open()
    let query = try PositionQuery(
      user: "", pageSize: 10, pageToken: "", scope: [], parts: 1, limits: SyncLimits())
    try await component.store.expectOnlyRangeIsRead(
      by: SQLiteSyncRepository.usersSQL, query.idRange(prefix: "b"),
      insertSQL: """
        INSERT INTO users (user_id, zone_count, device_count, upload_count, used_bytes, revision_floor,
        message_sequence, dropped_through)
        VALUES ($1, 0, 0, 0, 0, 0, 0, 0)
        """)
    await component.close()
  }
}
