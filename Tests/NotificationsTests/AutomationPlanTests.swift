import CampanileService
import CampanileStore
import ServiceTesting
import Testing

@testable import Notifications

@Suite(.onSQLite) struct AutomationPlanTests {
  /// No statement scans a table or sorts.
  @Test(arguments: [
    (AutomationTable.oneSQL, "sqlite_autoindex_automation_1"),
    (AutomationTable.countSQL, "sqlite_autoindex_automation_1"),
    (AutomationTable.listSQL, "sqlite_autoindex_automation_1"),
    (AutomationTable.updateSQL, "sqlite_autoindex_automation_1"),
    (AutomationTable.deleteSQL, "sqlite_autoindex_automation_1"),
    (TimerTable.clearSQL, "sqlite_autoindex_timers_1"),
    (BucketState.selectSQL, "sqlite_autoindex_buckets_1"),
  ])
  func usesItsIndex(_ sql: String, _ index: String) async throws {
    let component = try await Fixture().open()
    try component.store.expectPlan(of: sql, uses: index)
    await component.close()
  }
}
