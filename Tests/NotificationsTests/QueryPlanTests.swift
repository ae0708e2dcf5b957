import CampanileService
import CampanileStore
import ServiceTesting
import Testing

@testable import Notifications

@Suite(.onSQLite) struct QueryPlanTests {
  private typealias Repository = SQLiteNotificationsRepository

  /// No statement scans a table or sorts, and each list uses the index created for it.
  @Test(arguments: [
    (Repository.notificationSQL, "sqlite_autoindex_notifications_1"),
    (Repository.usersSQL, "sqlite_autoindex_users_1"), (Repository.usersSQL, "changes_user "),
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
    (Repository.postponedSQL, "sqlite_autoindex_timers_1"),
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
    (Repository.withheldSQL, "sqlite_autoindex_deliveries_1"),
    (Repository.keysSQL, "publish_keys_bucket "),
    (Repository.keyCountSQL, "publish_keys_bucket "),
    (Repository.keySQL, "publish_keys_secret "),
    (Repository.settingsSQL, "sqlite_autoindex_users_1"),
    (Repository.sharesSQL, "buckets_members "),
    (InvitationRow.byIDSQL, "sqlite_autoindex_invitations_1"),
    (InvitationRow.ofMemberSQL, "invitations_bucket "),
    (InvitationRow.ofBucketSQL, "invitations_bucket "),
    (InvitationRow.receivedSQL, "invitations_received "),
    (Repository.ownersInvitationsSQL, "invitations_pair "),
    (Repository.bucketsPendingSQL, "invitations_bucket "),
    (Repository.pairInvitationsSQL, "invitations_pair "),
    (Repository.receivedCountSQL, "invitations_received "),
    (Repository.hiddenCountSQL, "invitations_pair "),
    (Repository.withdrawAllSQL, "invitations_bucket "),
    (Repository.withdrawOfInviterSQL, "invitations_bucket "),
    (Repository.hideSQL, "invitations_received "),
    (Repository.acceptedSQL, "invitations_bucket "),
    (Repository.codesSQL, "invite_codes_bucket "),
    (Repository.codeCountSQL, "invite_codes_bucket "),
    (Repository.codeSQL, "invite_codes_secret "),
    (Repository.deleteCodesOfCreatorSQL, "invite_codes_bucket "),
    (Repository.expiredCodesSQL, "invite_codes_bucket "),
    (Repository.isBlockedSQL, "sqlite_autoindex_blocked_users_1"),
    (Repository.blockedSQL, "sqlite_autoindex_blocked_users_1"),
    (Repository.blockedCountSQL, "sqlite_autoindex_blocked_users_1"),
    (NotificationRetention.invitationsSQL, "invitations_end "),
    (NotificationRetention.inviteCodesSQL, "invite_codes_expiry "),
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
    (NotificationChangeLog.lastSQL, "sqlite_autoindex_changes_1"),
    (NotificationChangeLog.firstSQL, "sqlite_autoindex_changes_1"),
    (NotificationChangeLog.ofUserSQL, "changes_user "),
    (NotificationChangeLog.ofBucketSQL, "changes_user "),
    (NotificationChangeLog.compactedSQL, "sqlite_autoindex_users_1"),
    (ChangeLogCompactor.batchSQL, "sqlite_autoindex_changes_1"),
    (ChangeLogCompactor.dropSQL, "sqlite_autoindex_changes_1"),
    (ChangeFeed.entriesSQL, "sqlite_autoindex_changes_1"),
    (ChangeFeed.cursorSQL, "sqlite_autoindex_change_cursors_1"),
  ])
  func usesItsIndex(_ sql: String, _ index: String) async throws {
    let component = try await Fixture().open()
    try component.store.expectPlan(of: sql, uses: index)
    await component.close()
  }

  @Test func lastChangeIsReadFromItsIndex() async throws {
    let component = try await Fixture().open()
    try component.store.expectPlan(
      of: ChangeLogTable.endSQL, uses: "sqlite_autoindex_changes_1", allowsIndexScans: true)
    await component.close()
  }

  @Test("a page of users with a prefix costs the same, however many users precede them")
  func usersBeforeThePrefixAreNotRead() async throws {
    let component = try await Fixture().open()
    let query = try PositionQuery(
      user: "", pageSize: 10, pageToken: "", scope: [], parts: 1, limits: NotificationsLimits())
    try await component.store.expectOnlyRangeIsRead(
      by: Repository.usersSQL, query.idRange(prefix: "b"),
      insertSQL: """
        INSERT INTO users (user_id, bucket_count, notification_count, unread_count, compacted_through)
        VALUES ($1, 0, 0, 0, 0)
        """)
    await component.close()
  }
}
