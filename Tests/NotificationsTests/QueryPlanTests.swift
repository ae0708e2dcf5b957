import CampanileStore
import Testing

@testable import Notifications

@Suite struct QueryPlanTests {
  private typealias Repository = SQLiteNotificationsRepository

  /// No statement walks through a table or sorts, and each list uses the index that was made for it.
  @Test(arguments: [
    (Repository.notificationSQL, "sqlite_autoindex_notifications_1"),
    (Repository.stateSQL, "sqlite_autoindex_notifications_1"),
    (Repository.markSQL, "sqlite_autoindex_notifications_1"),
    (Repository.deleteSQL, "sqlite_autoindex_notifications_1"),
    (Repository.listSQL(ofBucket: false, isUnreadOnly: false), "sqlite_autoindex_notifications_1"),
    (Repository.listSQL(ofBucket: false, isUnreadOnly: true), "notifications_unread "),
    (Repository.listSQL(ofBucket: true, isUnreadOnly: false), "notifications_bucket "),
    (Repository.listSQL(ofBucket: true, isUnreadOnly: true), "notifications_bucket_unread "),
    (Repository.bucketRowsSQL, "notifications_bucket "),
    (Repository.deleteBucketRowsSQL, "notifications_bucket "),
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
