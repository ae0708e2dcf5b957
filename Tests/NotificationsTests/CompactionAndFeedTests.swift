import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService
import CampanileStore
import ServiceTesting
import TestSupport
import Testing

@testable import Notifications

@Suite struct CompactionAndFeedTests {
  private func sequences(_ component: NotificationsComponent) throws -> [Int64] {
    try component.store.readBlocking {
      try $0.query("SELECT sequence FROM changes ORDER BY sequence") { try $0.integer(0) }
    }
  }

  @Test func purgesByAgeAndCountInBatchesAndKeepsNewest() async throws {
    var retention = ChangeRetention()
    retention.rowsMax = 30
    retention.ageMaxMs = 10_000
    retention.batchRows = 4
    let fixture = try Fixture(retention: retention)
    let component = try await fixture.open()
    let box = try await component.service.makeBucket("b", anna)
    for index in 0..<49 { _ = try await component.service.make("\(index)", in: box.id, anna) }
    let compactor = ChangeLogCompactor(store: component.store, retention: retention)
    let nowMs = fixture.clock.nowMs
    #expect(try await compactor.compact(nowMs: nowMs, batchesMax: 2) == 8)
    #expect(try sequences(component) == Array(9...50))
    #expect(try await compactor.compact(nowMs: nowMs) == 12)
    #expect(try sequences(component) == Array(21...50))
    #expect(try await compactor.compact(nowMs: nowMs + 10_000) == 0)
    #expect(try await compactor.compact(nowMs: nowMs + 10_001) == 29)
    #expect(try sequences(component) == [50])
    _ = try await component.service.make("next", in: box.id, anna)
    #expect(try sequences(component) == [50, 51])
    await component.close()
  }

  @Test func onlyUsersOfPurgedChangesMustReadEverything() async throws {
    var retention = ChangeRetention()
    retention.rowsMax = 5
    let component = try await Fixture(retention: retention).open()
    let service = component.service
    let quiet = try await service.makeBucket("b", anna)
    let token = try await service.repository.watchStart(resumeToken: "", bucketID: nil, user: "anna").text(user: "anna")
    let noisy = try await service.makeBucket("b", bruno)
    let noisyToken = try await service.repository.watchStart(resumeToken: "", bucketID: nil, user: "bruno").text(
      user: "bruno")
    for index in 0..<20 { _ = try await service.make("\(index)", in: noisy.id, bruno) }
    #expect(try await component.maintain(nowMs: 0) > 0)
    // None of anna's changes after her token was purged.
    #expect(try await service.repository.watchStart(resumeToken: token, bucketID: quiet.id, user: "anna").sequence == 1)
    let error = await failure {
      try await service.repository.watchStart(resumeToken: noisyToken, bucketID: nil, user: "bruno")
    }
    #expect(error?.code == .outOfRange && error?.reason == "TOKEN_TOO_OLD")
    await component.close()
  }

  @Test func tokensOfAnotherDatabaseAreTooOld() async throws {
    let first = try await Fixture().open()
    let token = try await first.service.repository.watchStart(resumeToken: "", bucketID: nil, user: "anna").text(
      user: "anna")
    let second = try await Fixture().open()
    let other = await failure {
      try await second.service.repository.watchStart(resumeToken: token, bucketID: nil, user: "anna")
    }
    #expect(other?.reason == "TOKEN_TOO_OLD")
    // A token ahead of the log: the database was restored from a backup.
    var ahead = try await first.service.repository.watchStart(resumeToken: "", bucketID: nil, user: "anna")
    ahead.sequence = 1_000
    let text = ahead.text(user: "anna")
    let restored = await failure {
      try await first.service.repository.watchStart(resumeToken: text, bucketID: nil, user: "anna")
    }
    #expect(restored?.reason == "TOKEN_TOO_OLD")
    await first.close()
    await second.close()
  }

  @Test func feedDeliversInOrderAtLeastOnce() async throws {
    let fixture = try Fixture()
    var component = try await fixture.open()
    _ = try await component.service.makeBucket("before", anna)
    var feed = try await ChangeFeed("sync", store: component.store)
    #expect(try await feed.next(rowsMax: 10).isEmpty)
    let box = try await component.service.makeBucket("b", bruno)
    let made = try await component.service.make("1", in: box.id, bruno)
    _ = try await component.service.makeBucket("a", anna)
    let entries = try await feed.next(rowsMax: 2)
    #expect(entries.map(\.user) == ["bruno", "bruno"])
    #expect(entries.last?.change.message(watching: nil)?.change == .notificationCreated(made))
    #expect(try await feed.next(rowsMax: 2) == entries)
    try await feed.acknowledge(through: entries[1].change.sequence)
    try await feed.acknowledge(through: entries[0].change.sequence)
    await component.close()
    component = try await fixture.open()
    feed = try await ChangeFeed("sync", store: component.store)
    #expect(try await feed.next(rowsMax: 10).map(\.user) == ["anna"])
    await component.close()
  }

  @Test func changesUnreadByFeedOutliveMaxAgeButNotMaxCount() async throws {
    var retention = ChangeRetention()
    retention.ageMaxMs = 0
    retention.rowsMax = 10
    let fixture = try Fixture(retention: retention)
    let component = try await fixture.open()
    let box = try await component.service.makeBucket("b", anna)
    let feed = try await ChangeFeed("sync", store: component.store)
    for index in 0..<5 { _ = try await component.service.make("\(index)", in: box.id, anna) }
    fixture.clock.advance(by: .seconds(60))
    let nowMs = fixture.clock.nowMs
    #expect(try await component.maintain(nowMs: nowMs) == 1)
    #expect(try await feed.next(rowsMax: 10).count == 5)
    for index in 0..<10 { _ = try await component.service.make("\(index)", in: box.id, anna) }
    #expect(try await component.maintain(nowMs: nowMs) == 5)
    #expect(await failure { try await feed.next(rowsMax: 10) }?.reason == "TOKEN_TOO_OLD")
    try await feed.acknowledge(through: try await feed.lastSequence())
    #expect(try await feed.next(rowsMax: 10).isEmpty)
    await component.close()
  }
}
