import CampanileService
import CampanileStore
import Testing

@testable import Notifications

@Suite struct AutomationPlanTests {
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
    let plan = try component.store.queryPlan(sql)
    #expect(try component.store.fullScans(sql) == [])
    #expect(plan.contains { "\($0) ".contains(" \(index)") }, "\(plan)")
    #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
    await component.close()
  }
}
