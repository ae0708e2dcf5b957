import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import TestSupport
import Testing

@testable import Sync

@Suite struct ChangesTests {
  private static func list(
    _ component: SyncComponent, _ token: String = "", fromStart: Bool = false, pageSize: Int32 = 0
  ) async throws -> ListZoneChangesResponse {
    try await component.zones.listZoneChanges(
      .init(resumeToken: token, pageSize: pageSize, fromStart: fromStart), context: anna)
  }

  @Test func emptyTokenMeansThePresent() async throws {
    try await Fixture().run { component in
      let empty = try await Self.list(component)
      #expect(empty.changes.isEmpty && !empty.hasMore)
      try await component.put("a", "1")
      #expect(try await Self.list(component, empty.resumeToken).changes.map(\.revision) == [1])
      let present = try await Self.list(component)
      #expect(present.changes.isEmpty && !present.hasMore)
      try await component.put("a", "2")
      #expect(try await Self.list(component, present.resumeToken).changes.map(\.revision) == [2])
      #expect(
        await refusal { try await Self.list(component, "x", fromStart: true) }
          == "INVALID_ARGUMENT RESUME_TOKEN_INVALID")
    }
  }

  @Test func startBeginsAtTheOldestRetainedChange() async throws {
    var limits = SyncLimits()
    limits.revisionsMax = 3
    try await Fixture(limits).run { component in
      #expect(try await Self.list(component, fromStart: true).changes.isEmpty)
      for number in 1...5 { try await component.put("a\(number)", "1") }
      let first = try await Self.list(component, fromStart: true, pageSize: 2)
      #expect(first.changes.map(\.revision) == [3, 4])
      #expect(first.hasMore)
      // A client that goes on may still set it.
      let second = try await Self.list(component, first.resumeToken, fromStart: true, pageSize: 2)
      #expect(second.changes.map(\.revision) == [5])
      #expect(!second.hasMore)
      _ = try await component.zones.deleteZone(.init(force: true), context: anna)
      try await component.put("a", "1")
      #expect(try await Self.list(component, fromStart: true).changes.map(\.revision) == [7])
    }
  }

  /// The events of a watch that starts with `start`, until `count` changes were sent.
  private static func watch(
    _ component: SyncComponent, _ start: ChangesStart, count: Int
  ) async throws -> [WatchZoneChangesResponse] {
    struct Enough: Error {}
    var responses: [WatchZoneChangesResponse] = []
    do {
      try await ZoneWatch(repository: component.repository, hub: component.zones.hub)
        .run(zone: NameRules.defaultZone, start: start, user: "anna") { response in
          responses.append(response)
          if responses.count == count + 1 { throw Enough() }
        }
    } catch is Enough {}
    return responses
  }

  @Test func watchesStartWhereTheyAreAsked() async throws {
    try await Fixture().run { component in
      for number in 1...3 { try await component.put("a", "\(number)") }
      let all = try await Self.watch(component, .oldest, count: 3)
      #expect(all.first?.event == .started(.init()))
      #expect(all.compactMap { $0.told?.revision } == [1, 2, 3])
      // Each event has the token that resumes after it, the first one too.
      for (sent, response) in all.enumerated() {
        let rest = try await Self.list(component, response.resumeToken)
        #expect(rest.changes.map(\.revision) == Array([1, 2, 3].dropFirst(sent)))
      }
      let present = try await Self.watch(component, .present, count: 0)
      #expect(present.map(\.event) == [.started(.init())])
      #expect(try await Self.list(component, present.first?.resumeToken ?? "").changes.isEmpty)
    }
  }

  @Test func deletionsHaveNoContentAndNoEtag() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      try await component.put("a", "1")
      let commit = try await component.commit([AssetChange(change: .delete(AssetDelete(name: "a")))])
      let deletion = AssetDeleted(
        zoneId: NameRules.defaultZone, name: "a", version: 2,
        deleteTime: .init(millisecondsSince1970: fixture.clock.nowMs), deviceId: "phone", recordType: "Note")
      #expect(commit.results.map(\.outcome) == [.assetDeleted(deletion)])
      #expect(try await component.history("a").first == AssetVersion(state: .assetDeleted(deletion)))
      let change = try #require(try await component.changes().changes.last)
      #expect(change.assets == [ChangedAsset(change: .assetDeleted(deletion))])
      #expect(change.deviceId == "phone")
      #expect(change.changeTime == deletion.deleteTime)
      #expect(await refusal { try await component.put("a", "2") { $0.etag = "v2" } } == "ABORTED ETAG_MISMATCH")
      // Deletions count as versions between pages.
      try await component.put("a", "3")
      var names: [Int64] = []
      var token = ""
      repeat {
        let page = try await component.assets.listAssetVersions(
          .init(name: "a", pageSize: 1, pageToken: token), context: anna)
        names += page.versions.map { $0.isDeleted ? -1 : $0.asset?.version ?? 0 }
        token = page.nextPageToken
      } while !token.isEmpty
      #expect(names == [3, -1, 1])
    }
  }

  @Test func zoneEtagChangesWithEveryCommit() async throws {
    try await Fixture().run { component in
      func zone() async throws -> Zone {
        try #require(try await component.zones.getZone(.init(zoneId: "Z"), context: anna).zone)
      }
      func delete(_ etag: String) async throws {
        _ = try await component.zones.deleteZone(.init(zoneId: "Z", force: true, etag: etag), context: anna)
      }
      let made = try await component.zones.createZone(.init(zoneId: "Z"), context: anna).zone
      #expect(try await zone() == made)
      try await component.put("a", "1", zone: "Z")
      let changed = try await zone()
      #expect(changed.etag != made?.etag)
      #expect(try await component.zones.listZones(.init(), context: anna).zones.map(\.etag) == [changed.etag])
      let stale = await failure { try await delete(made?.etag ?? "") }
      #expect(stale?.reason == "ETAG_MISMATCH")
      #expect(stale?.fieldViolations.map(\.field) == ["etag"])
      #expect(stale?.errorMetadata["etag"] == changed.etag)
      #expect(await refusal { try await delete("x") } == "ABORTED ETAG_MISMATCH")
      try await delete(changed.etag)
      #expect(await refusal { try await delete(changed.etag) } == "NOT_FOUND ZONE_NOT_FOUND")
      // A zone made again has later etags.
      let again = try await component.zones.createZone(.init(zoneId: "Z"), context: anna).zone
      #expect(again?.etag != made?.etag && again?.etag != changed.etag)
    }
  }
}
