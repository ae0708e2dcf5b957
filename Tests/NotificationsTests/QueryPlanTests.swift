import CampanileService
import CampanileStore
import Testing

@testable import Notifications

@Suite struct QueryPlanTests {
  private typealias Repository = SQLiteNotificationsRepository

  /// No statement walks through a table or sorts, and each list uses the index that was made for it.
  @Test(arguments: [
    (Repository.notificationSQL, "sqlite_autoindex_notifications_1"),
    (Repository.stateSQL, "sqlite_autoindex_notifications_1"),
    (NotificationRow.updateSQL, "sqlite_autoindex_notifications_1"),
    (Repository.collapsedSQL, "notifications_collapse "),
    (Repository.unreadChunkSQL, "notifications_unread "),
    (Repository.unreadChunkOfBucketSQL, "notifications_bucket_unread "),
    (Repository.markChunkSQL, "notifications_unread "),
    (Repository.markChunkOfBucketSQL, "notifications_bucket_unread "),
    (Repository.newestUnreadSQL, "notifications_unread "),
    (Repository.removeSQL, "sqlite_autoindex_notifications_1"),
    (Repository.trashedSQL, "sqlite_autoindex_deleted_notifications_1"),
    (Repository.trashListSQL, "deleted_notifications_list "),
    (Repository.trashedOfBucketSQL, "deleted_notifications_bucket "),
    (Repository.scheduledListSQL, "sqlite_autoindex_scheduled_1"),
    (Repository.scheduledSQL, "sqlite_autoindex_scheduled_1"),
    (TimerTable.dueSQL, "timers_due "),
    (TimerTable.nextSQL, "timers_due "),
    (TimerTable.hastenSQL, "sqlite_autoindex_timers_1"),
    (TimerTable.clearSQL, "sqlite_autoindex_timers_1"),
    (TimerTable.takeSQL, "sqlite_autoindex_timers_1"),
    (Repository.hasTimerSQL, "sqlite_autoindex_timers_1"),
    (Repository.deliveriesSQL, "sqlite_autoindex_deliveries_1"),
    (Repository.contentSQL, "sqlite_autoindex_content_refs_1"),
    (Repository.contentUsedSQL, "content_refs_content "),
    (Repository.runSQL, "sqlite_autoindex_action_runs_1"),
    (Repository.runsSQL, "sqlite_autoindex_action_runs_1"),
    (Repository.surplusRunsSQL, "sqlite_autoindex_action_runs_1"),
    (Repository.runsOfNotificationSQL, "action_runs_notification "),
    (Repository.keysSQL, "publish_keys_bucket "),
    (Repository.keySQL, "publish_keys_secret "),
    (Repository.settingsSQL, "sqlite_autoindex_users_1"),
    (Repository.sharesSQL, "buckets_members "),
    (BucketState.selectSQL, "sqlite_autoindex_buckets_1"),
    (BucketState.membersSQL, "buckets_members "),
    (UserState.selectSQL, "sqlite_autoindex_users_1"),
    (Repository.listSQL(ofBucket: false, isUnreadOnly: false), "sqlite_autoindex_notifications_1"),
    (Repository.listSQL(ofBucket: false, isUnreadOnly: true), "notifications_unread "),
    (Repository.listSQL(ofBucket: true, isUnreadOnly: false), "notifications_bucket "),
    (Repository.listSQL(ofBucket: true, isUnreadOnly: true), "notifications_bucket_unread "),
    (Repository.bucketRowsSQL, "notifications_bucket "),
    (Repository.deletedBucketSQL, "sqlite_autoindex_buckets_1"),
    (Repository.deletedBucketsSQL, "buckets_deleted "),
    (Repository.deletedCountSQL, "buckets_deleted "),
    (Repository.bucketSQL, "sqlite_autoindex_buckets_1"),
    (Repository.bucketVersionSQL, "sqlite_autoindex_buckets_1"),
    (Repository.bucketsSQL, "buckets_name "),
    (ReadTransaction.userUnreadSQL, "sqlite_autoindex_users_1"),
    (ReadTransaction.bucketsUnreadSQL, "buckets"),
    (ChangeLog.lastSQL, "sqlite_autoindex_changes_1"),
    (ChangeLog.firstSQL, "sqlite_autoindex_changes_1"),
    (ChangeLog.ofUserSQL, "changes_user "),
    (ChangeLog.ofBucketSQL, "changes_user "),
    (ChangeLog.insertSQL, "sqlite_autoindex_changes_1"),
    (ChangeLog.compactedSQL, "sqlite_autoindex_users_1"),
    (ChangeLogCompactor.batchSQL, "sqlite_autoindex_changes_1"),
    (ChangeLogCompactor.dropSQL, "sqlite_autoindex_changes_1"),
    (ChangeFeed.entriesSQL, "sqlite_autoindex_changes_1"),
    (ChangeFeed.cursorSQL, "sqlite_autoindex_change_cursors_1"),
  ])
  func usesItsIndex(_ sql: String, _ index: String) async throws {
    let component = try await Fixture().open()
    let plan = try component.store.queryPlan(sql)
    #expect(try component.store.fullScans(sql) == [])
    #expect(plan.contains { "\($0) ".contains(" \(index)") }, "\(plan)")
    #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
    await component.close()
  }
}
