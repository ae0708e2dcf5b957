import CampanileService
import CampanileStore
import ServiceTesting
import Testing

@testable import Notifications

@Suite(.onSQLite) struct SearchPlanTests {
  @Test(arguments: [
    (SearchState.pendingSQL, "changes_user "),
    (SearchWriter.documentSQL, "search_documents_notification "),
    (SearchWriter.notificationSQL, "sqlite_autoindex_notifications_1"),
    (SearchWriter.bucketNotificationsSQL, "notifications_bucket "),
    (SearchWriter.bucketDocumentsSQL, "search_documents_bucket "),
    (SearchWriter.allNotificationsSQL, "sqlite_autoindex_notifications_1"),
    (SearchWriter.allDocumentsSQL, "search_documents_notification "),
    (SearchIndexer.entriesSQL, "sqlite_autoindex_changes_1"),
    (SearchIndexer.entriesOfUserSQL, "changes_user "),
    (DocumentNumber.beforeSQL, "search_documents_notification "),
    (DocumentNumber.afterSQL, "search_documents_notification "),
    (DocumentNumber.lastWithinSQL, "INTEGER PRIMARY KEY"), (DocumentNumber.firstWithinSQL, "INTEGER PRIMARY KEY"),
    (DocumentNumber.takenSQL, "INTEGER PRIMARY KEY"),
    (SQLiteNotificationsRepository.searchedDocumentSQL, "INTEGER PRIMARY KEY"),
    (RetentionJob.cursorSQL, "sqlite_autoindex_maintenance_cursors_1"),
    (RetentionJob.bucketsSQL, "buckets_retention "),
    (RetentionJob.bucketSQL, "sqlite_autoindex_buckets_1"),
    (RetentionJob.oldestSQL, "notifications_bucket "),
    (RetentionJob.readSQL, "notifications_bucket_read "),
    (TimerTable.clearAllSQL, "sqlite_autoindex_timers_1"),
    (Deletion.deliveriesSQL, "sqlite_autoindex_deliveries_1"),
    (Deletion.refsSQL, "sqlite_autoindex_content_refs_1"),
    (Deletion.contentSQL, "content_refs_content "),
    (NotificationRetention.notificationsSQL, "deleted_notifications_time "),
    (NotificationRetention.deleteNotificationSQL, "sqlite_autoindex_deleted_notifications_1"),
    (NotificationRetention.deliveriesSQL, "deliveries_time "),
    (NotificationRetention.runsSQL, "action_runs_time "),
    (NotificationRetention.bucketSQL, "buckets_deleted_time "),
    (NotificationRetention.ofBucketSQL, "deleted_notifications_bucket "),
    (NotificationRetention.keysSQL, "publish_keys_bucket "),
    (NotificationRetention.deleteBucketSQL, "sqlite_autoindex_buckets_1"),
    (UserExport.lastNotificationSQL, "sqlite_autoindex_notifications_1"),
    (UserExport.lastBucketSQL, "sqlite_autoindex_buckets_1"),
    (UserExport.settingsSQL, "sqlite_autoindex_users_1"),
    (UserExport.bucketsSQL, "sqlite_autoindex_buckets_1"),
    (UserExport.bucketSQL, "sqlite_autoindex_buckets_1"),
    (UserExport.notificationsSQL, "sqlite_autoindex_notifications_1"),
    (UserExport.contentsSQL, "sqlite_autoindex_content_refs_1"),
    (UserExport.automationSQL, "sqlite_autoindex_automation_1"),
    (UserExport.scheduledSQL, "sqlite_autoindex_scheduled_1"),
    (ImportWriter.userCountSQL, "sqlite_autoindex_users_1"),
    (ImportWriter.settingsSQL, "sqlite_autoindex_users_1"),
    (ImportWriter.knownBucketSQL, "sqlite_autoindex_buckets_1"),
    (ImportWriter.knownNotificationSQL, "sqlite_autoindex_deleted_notifications_1"),
    (ImportWriter.collapseSQL, "notifications_collapse "),
    (SearchUser.numberSQL, "sqlite_autoindex_search_users_1"), (SearchUser.highestSQL, "search_users_number "),
    (SearchWords.nextSQL, "PRIMARY KEY"), (SearchWords.walkSQL, "PRIMARY KEY"), (SearchWords.dropSQL, "PRIMARY KEY"),
    (SearchWords.cursorSQL, "sqlite_autoindex_maintenance_cursors_1"),
  ])
  func usesItsIndex(_ sql: String, _ index: String) async throws {
    let component = try await Fixture().open()
    try component.store.expectPlan(of: sql, uses: index)
    await component.close()
  }

  /// The index orders by descending number and starts at a word: nothing is sorted or scanned.
  @Test(arguments: [
    (SQLiteNotificationsRepository.searchSQL, ["M4", ">", "<"]), (SearchWriter.textSQL, ["="]),
    (SearchWords.usedSQL, []),
  ])
  func usesFullTextIndex(_ sql: String, _ constraints: [String]) async throws {
    let component = try await Fixture().open()
    let plan = try component.store.queryPlan(sql)
    #expect(plan.count == 1 && plan.allSatisfy { $0.contains("VIRTUAL TABLE INDEX") }, "\(plan)")
    for constraint in constraints { #expect(plan.allSatisfy { $0.contains(constraint) }, "\(plan)") }
    await component.close()
  }
}
