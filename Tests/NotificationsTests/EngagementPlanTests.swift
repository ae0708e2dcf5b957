import ServiceTesting
import Testing

@testable import Notifications

@Suite(.onSQLite) struct EngagementPlanTests {
  /// No statement about reports scans a table or sorts, and each uses the index created for it.
  @Test(arguments: [
    (EngagementTable.copySQL, "sqlite_autoindex_notifications_1"), (EngagementTable.reportSQL, "engagement_report "),
    (EngagementTable.ofKindSQL, "engagement_report "), (EngagementTable.countSQL, "engagement_report "),
    (EngagementTable.ofCopySQL, "engagement_report "), (EngagementTable.actionsSQL, "engagement_actions "),
    (EngagementTable.changesSQL, "engagement_bucket "), (EngagementTable.oldSQL, "engagement_time "),
    (EngagementTable.countsSQL, "sqlite_autoindex_engagement_counts_1"),
    (EngagementTable.ofBucketSQL, "sqlite_autoindex_engagement_counts_1"),
    (EngagementTable.copiesSQL, "buckets_members "), (EngagementTable.oldCountsSQL, "engagement_counts_time "),
    (EngagementTable.dropCountsSQL, "sqlite_autoindex_engagement_counts_1"),
    (EngagementTable.dropSQL, "sqlite_autoindex_engagement_1"),
    (EngagementTable.nextSQL, "sqlite_autoindex_engagement_log_1"),
  ])
  func usesItsIndex(_ sql: String, _ index: String) async throws {
    let component = try await Fixture().open()
    try component.store.expectPlan(of: sql, uses: index)
    await component.close()
  }
}
