import CampanileAPI
import CampanileCodec
import CampanileService
import ServiceTesting
import TestSupport
import Testing

@testable import Notifications

/// Ids of two processes on one database.
@Suite struct SharedIDTests {
  private static let prefix = SortableID.notificationPrefix

  @Test("an id exceeds the time of another process's object, unless that clock is wrong")
  func idsFollowOtherProcesses() {
    let clock = TestClock(1_000_000)
    let ids = SortableIDGenerator(clockMs: { clock.nowMs }, random: { 7 })
    #expect(ids.next(prefix: Self.prefix, after: 999_999).timeMs == 1_000_000)
    #expect(ids.next(prefix: Self.prefix, after: 1_000_000).timeMs == 1_000_001)
    #expect(ids.next(prefix: Self.prefix, after: 1_000_500).timeMs == 1_000_501)
    // Far ahead, times may be equal, so that they do not run away.
    #expect(ids.next(prefix: Self.prefix, after: 1_010_000).timeMs == 1_010_000)
    #expect(ids.next(prefix: Self.prefix, after: 1_000_000 + SortableIDGenerator.skewMaxMs + 1).timeMs == 1_010_000)
    #expect(ids.next(prefix: Self.prefix).timeMs == 1_010_000)
  }

  @Test(
    "notifications ascend in the order of their calls at two processes whose clocks differ",
    .enabled(if: TestStore.usesPostgreSQL, "it concerns PostgreSQL"), arguments: [0, 40, -40, 3_000] as [Int64])
  func notificationsAscend(aheadMs: Int64) async throws {
    let fixture = try Fixture()
    let other = try Fixture(sharing: fixture)
    other.clock.nowMs = fixture.clock.nowMs + aheadMs
    let (first, second) = (try await fixture.open(), try await other.open())
    let own = try await first.service.makeBucket("b", anna)
    var made: [Notification] = []
    for number in 0..<60 {
      // Runs of one process, long enough for it to expect to be alone.
      let component = (number / 12).isMultiple(of: 2) && number % 5 != 0 ? first : second
      made.append(try await component.service.make("n\(number)", in: own.id, anna))
    }
    #expect(made.map(\.id) == made.map(\.id).sorted())
    let times = made.compactMap { $0.createTime?.millisecondsSince1970 }
    #expect(times == times.sorted())
    #expect(try await second.service.all(anna).map(\.title) == made.map(\.title).reversed())
    // Later ones, which the user has not seen, stay unread.
    let seen = made[30]
    let response = try await second.service.markAllNotificationsRead(
      .init(throughNotificationId: seen.id), context: anna)
    #expect(response.changedCount == 31 && response.unreadCounts?.total == 29)
    await first.close()
    await second.close()
  }
}
