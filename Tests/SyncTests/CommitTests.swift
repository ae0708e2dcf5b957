import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import Dispatch
import FoundationEssentials
import ServiceTesting
import Synchronization
import Testing

@testable import Sync

@Suite struct CommitTests {
  private static func put(_ name: String, _ text: String, etag: String = "") -> AssetChange {
    var put = AssetPut.of(name, text)
    put.etag = etag
    return AssetChange(change: .put(put))
  }

  private static func delete(_ name: String) -> AssetChange {
    AssetChange(change: .delete(AssetDelete(name: name)))
  }

  @Test func commitsAllChangesOrNone() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let first = try await component.commit([Self.put("a", "1"), Self.put("b", "2")])
      #expect(first.revision == 1)
      #expect(first.results.map { $0.asset?.version } == [1, 1])
      let refused = await failure {
        try await component.commit([Self.put("a", "10"), Self.put("c", "[]"), Self.put("b", "20", etag: "v9")])
      }
      #expect(refused?.reason == "ETAG_MISMATCH")
      #expect(refused?.fieldViolations.first?.field == "changes[2].put.etag")
      #expect(try await component.list().assets.map(\.etag) == ["v1", "v1"])
      try await component.settleContents()
      #expect(try fixture.contentFiles().count == 2)
      let broken = await failure { try await component.commit([Self.put("a", "10"), Self.put("b", "[")]) }
      #expect(broken?.fieldViolations.first?.field == "changes[1].put.content")
      try await component.settleContents()
      #expect(try fixture.contentFiles().count == 2)
      let last = try await component.commit([Self.put("a", "11"), Self.delete("b")])
      #expect(last.revision == 2)
      #expect(try await component.list().assets.map(\.name) == ["a"])
      let changes = try await component.changes()
      #expect(changes.changes.map { $0.assets.map(\.isDeleted) } == [[false, false], [false, true]])
    }
  }

  @Test func refusesCommits() async throws {
    try await Fixture().run { component in
      #expect(await refusal { try await component.commit([]) } == "INVALID_ARGUMENT REQUIRED")
      #expect(await refusal { try await component.commit([AssetChange()]) } == "INVALID_ARGUMENT REQUIRED")
      #expect(
        await refusal { try await component.commit([Self.put("a", "1"), Self.delete("a")]) }
          == "INVALID_ARGUMENT NAME_REPEATED")
      #expect(
        await refusal { try await component.commit((0..<101).map { Self.put("a\($0)", "1") }) }
          == "INVALID_ARGUMENT TOO_MANY")
      #expect(await refusal { try await component.commit([Self.delete("a")]) } == "NOT_FOUND ASSET_NOT_FOUND")
    }
  }

  @Test func honoursEtagConditions() async throws {
    try await Fixture().run { component in
      try await component.put("a", "1") { $0.mustNotExist = true }
      #expect(
        await refusal { try await component.put("a", "2") { $0.mustNotExist = true } } == "ABORTED ETAG_MISMATCH")
      let second = try await component.put("a", "2") { $0.etag = "v1" }
      #expect(second.asset?.etag == "v2")
      let stale = await failure { try await component.put("a", "3") { $0.etag = "v1" } }
      #expect(stale?.errorMetadata["etag"] == "v2")
      let gone = try await component.assets.deleteAsset(
        .init(deviceId: "phone", name: "a", etag: "v2"), context: anna)
      #expect(gone.revision == 3)
      #expect(await refusal { try await component.text("a") } == "NOT_FOUND ASSET_NOT_FOUND")
      try await component.put("a", "4") { $0.mustNotExist = true }
      #expect(try await component.history("a").map(\.isDeleted) == [false, true, false, false])
    }
  }

  @Test func retainsTheLoserOfAConflict() async throws {
    try await Fixture().run { component in
      try await component.register("pad", .writer)
      try await component.put("a", "1")
      // A device that overwrites its own version causes no conflict; another device that has not seen the version does.
      #expect(try await component.put("a", "2").conflict == nil)
      let blind = try await component.put("a", "3", device: "pad")
      #expect(blind.conflict?.asset?.version == 2)
      // A put with the etag of the seen version overwrites without a conflict.
      #expect(try await component.put("a", "4") { $0.baseEtag = "v3" }.conflict == nil)
      let stale = try await component.put("a", "5", device: "pad") { $0.baseEtag = "v3" }
      #expect(stale.conflict?.asset?.version == 4)
      #expect(try await component.text("a") == "5")
      #expect(try await component.history("a", conflictsOnly: true).compactMap { $0.asset?.version } == [4, 2])
      #expect(try await component.text("a", version: 4) == "4")
      _ = try await component.assets.resolveAssetConflict(
        .init(deviceId: "phone", name: "a", version: 4), context: anna)
      #expect(try await component.history("a", conflictsOnly: true).compactMap { $0.asset?.version } == [2])
    }
  }

  @Test func mergesRecordsOfBothSides() async throws {
    func buckets(_ records: (id: String, name: String, hour: Int)...) -> String {
      let list = records.map { record in
        "{\"id\":\"\(record.id)\",\"name\":\"\(record.name)\",\"createdAt\":\"2026-01-01T00:00:00Z\","
          + "\"updatedAt\":\"2026-01-01T0\(record.hour):00:00Z\"}"
      }
      return "{\"buckets\":[\(list.joined(separator: ","))],\"syncTimestamp\":\"2026-01-01T00:00:00Z\"}"
    }
    try await Fixture().run { component in
      try await component.register("pad", .writer)
      func put(_ text: String, _ device: String, _ base: String) async throws -> PutAssetResponse {
        try await component.put("buckets.json", text, device: device) {
          $0.recordType = "BucketsData"
          $0.baseEtag = base
          $0.onConflict = .merge
        }
      }
      #expect(try await put(buckets(("x", "X", 1), ("y", "Y", 1), ("z", "Z", 1)), "phone", "").merged == false)
      #expect(try await put(buckets(("x", "X2", 3), ("y", "Y", 1), ("z", "Z", 1)), "phone", "v1").merged == false)
      // Based on version 1: changed x earlier, deleted y, added w.
      let merged = try await put(buckets(("x", "X1", 2), ("z", "Z", 1), ("w", "W", 2)), "pad", "v1")
      #expect(merged.merged)
      #expect(merged.conflict == nil)
      #expect(merged.asset?.recordCount == 3)
      let text = try await component.text("buckets.json")
      #expect(text.contains("X2") && !text.contains("X1") && !text.contains("\"y\"") && text.contains("\"w\""))
    }
  }

  @Test func restoresOldVersions() async throws {
    try await Fixture().run { component in
      for text in ["1", "2", "3"] { try await component.put("a", text) }
      func restore(_ version: Int64, _ etag: String = "") async throws -> Asset? {
        try await component.assets.restoreAssetVersion(
          .init(deviceId: "phone", name: "a", version: version, etag: etag), context: anna
        ).asset
      }
      #expect(await refusal { try await restore(1, "v2") } == "ABORTED ETAG_MISMATCH")
      #expect(try await restore(1, "v3")?.version == 4)
      #expect(try await component.text("a") == "1")
      _ = try await component.commit([Self.delete("a")])
      #expect(await refusal { try await restore(5) } == "FAILED_PRECONDITION VERSION_DELETED")
      #expect(try await restore(2)?.version == 6)
      #expect(try await component.text("a") == "2")
    }
  }

  @Test func returnsTheFirstResponseToARepeat() async throws {
    try await Fixture().run { component in
      func put(_ text: String) async throws -> PutAssetResponse {
        try await component.assets.putAsset(
          .init(deviceId: "phone", put: .of("a", text), requestId: "r1"), context: anna)
      }
      let first = try await put("1")
      #expect(try await put("1") == first)
      #expect(try await component.history("a").count == 1)
      #expect(await refusal { try await put("2") } == "FAILED_PRECONDITION REQUEST_ID_REUSED")
      func patch() async throws -> PatchAssetResponse {
        try await component.assets.patchAsset(
          .init(deviceId: "phone", name: "a", etag: "v1", patch: .mergePatch("{\"a\":1}"), requestId: "r2"),
          context: anna)
      }
      let patched = try await patch()
      #expect(try await patch() == patched)
      #expect(try await component.text("a") == "{\"a\":1}")
    }
  }

  @Test func returnsDeltasThatRebuildTheDocument() async throws {
    try await Fixture().run { component in
      let records = (0..<150).map { "{\"id\":\"n\($0)\",\"title\":\"Title number \($0)\",\"body\":\"\($0 * 7_919)\"}" }
      let before = "{\"list\":[\(records.joined(separator: ","))]}"
      let after = before.replacing("Title number 77\"", with: "Changed\"")
      try await component.put("a", before)
      try await component.put("a", after)
      func delta(_ accept: [DeltaKind] = [], since: Int64 = 1) async throws -> GetAssetDeltaResponse {
        try await component.assets.getAssetDelta(.init(name: "a", sinceVersion: since, accept: accept), context: anna)
      }
      let patch = try await delta([.jsonPatch])
      #expect(patch.kind == .jsonPatch)
      #expect(patch.delta.count * 50 < after.utf8.count)
      try await component.put("b", before)
      _ = try await component.assets.patchAsset(
        .init(
          deviceId: "phone", name: "b", etag: "v3", patch: .jsonPatch(String(decoding: patch.delta, as: UTF8.self))),
        context: anna)
      #expect(try await component.text("b") == after)
      let bytes = try await delta([.bytes])
      #expect(bytes.kind == .bytes)
      #expect(bytes.delta.count * 50 < after.utf8.count)
      #expect(try await delta().delta.count <= min(patch.delta.count, bytes.delta.count))
      #expect(try await delta(since: 2).kind == .unchanged)
      let whole = try await delta(since: 9)
      #expect(whole.kind == .whole)
      #expect(whole.delta == Array(after.utf8))
      #expect(await refusal { try await delta([.init(rawValue: 77)]) } == "INVALID_ARGUMENT ENUM_UNKNOWN")
    }
  }

  /// Documents that wait for a place are not in memory.
  @Test func loadsDocumentsOnlyWhenTheyHaveAPlace() async throws {
    var limits = SyncLimits()
    limits.documentsAtOnceMax = 1
    let fixture = try Fixture(limits)
    try await fixture.run { component in
      try await component.put("a", "{\"a\":1}")
      try await component.put("a", "{\"a\":2}")
      let gate = DispatchSemaphore(value: 0)
      let isHeld = Atomic(false)
      async let held: Void = component.assets.documents.run {
        isHeld.store(true, ordering: .relaxed)
        gate.wait()
      }
      while !isHeld.load(ordering: .relaxed) { await Task.yield() }
      try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<8 {
          group.addTask {
            await refusal {
              try await component.assets.getAssetDelta(.init(name: "a", sinceVersion: 1), context: anna)
            }
          }
        }
        for _ in 0..<1_000 { await Task.yield() }
        try await component.settleContents()
        for file in try fixture.contentFiles() { try await component.replace(file, nil) }
        gate.signal()
        for try await answer in group { #expect(answer == "DATA_LOSS CONTENT_DAMAGED") }
      }
      try await held
    }
  }

  @Test func deletesOldVersionsForNewOnesUntilQuotaIsFull() async throws {
    var limits = SyncLimits()
    limits.zoneBytesMax = 1_000
    let fixture = try Fixture(limits)
    try await fixture.run { component in
      let text = "\"\(String(repeating: "x", count: 298))\""
      var last = PutAssetResponse()
      for _ in 0..<2 { last = try await component.put("a", text) }
      #expect(last.storage?.usedBytes == 600)
      #expect(last.storage?.warning == false)
      last = try await component.put("a", text)
      #expect(last.storage?.warning == true)
      for _ in 0..<3 { last = try await component.put("a", text) }
      #expect(last.storage?.usedBytes == 900)
      #expect(try await component.history("a").count == 3)
      #expect(try await component.usage().zonesWarned == 1)
      try await component.put("b", text)
      try await component.put("c", text)
      #expect(await refusal { try await component.put("d", text) } == "RESOURCE_EXHAUSTED QUOTA_EXCEEDED")
      #expect(try await component.list().assets.count == 3)
      #expect(
        await refusal { try await component.createUpload(Array(text.utf8)) } == "RESOURCE_EXHAUSTED QUOTA_EXCEEDED")
    }
  }

  @Test func listsChangesUntilTheyAreCompacted() async throws {
    var limits = SyncLimits()
    limits.revisionsMax = 5
    try await Fixture(limits).run { component in
      try await component.put("a", "0")
      let token = try await component.list().resumeToken
      for number in 1...5 { try await component.put("a", "\(number)") }
      #expect(try await component.changes(since: token).changes.map(\.revision) == [2, 3, 4, 5, 6])
      try await component.put("a", "6")
      let late = await failure { try await component.changes(since: token) }
      #expect(late?.code == .outOfRange)
      #expect(late?.reason == "TOKEN_TOO_OLD")
      #expect(try await component.history("a").count == 5)
      let again = try await component.list()
      #expect(try await component.changes(since: again.resumeToken).changes.isEmpty == true)
      _ = try await component.zones.deleteZone(.init(force: true), context: anna)
      #expect(await failure { try await component.changes(since: again.resumeToken) }?.reason == "TOKEN_TOO_OLD")
      try await component.put("a", "1")
      #expect(await failure { try await component.changes(since: again.resumeToken) }?.reason == "TOKEN_TOO_OLD")
      // Its etags differ from those of the deleted zone.
      #expect(try await component.list().assets.first?.version == 9)
    }
  }

  @Test func listsLargeChangesInPagesThatFit() async throws {
    try await Fixture().run { component in
      let first = try await component.put("a", "1")
      let digest = try #require(first.asset?.sha256)
      for commit in 0..<25 {
        let changes = (0..<100).map { number in
          var put = AssetPut.of("n\(number)", "")
          put.content = .sha256(digest)
          put.recordCount = Int64(commit)
          return AssetChange(change: .put(put))
        }
        _ = try await component.commit(changes)
      }
      var token = ""
      var told: [Int64] = []
      var pages = 0
      while true {
        let page = try await component.zones.listZoneChanges(
          .init(resumeToken: token, pageSize: 1_000, fromStart: true), context: anna)
        #expect(page.changes.reduce(0) { $0 + $1.assets.count } <= ChangePage.assetsMax)
        #expect(page.changes.allSatisfy { $0.assets.count == ($0.revision == 1 ? 1 : 100) })
        told += page.changes.map(\.revision)
        token = page.resumeToken
        pages += 1
        guard page.hasMore else { break }
      }
      #expect(told == Array(1...26))
      #expect(pages == 2)
    }
  }

  @Test func listsAssetsOfOneRevision() async throws {
    try await Fixture().run { component in
      for name in ["a", "b", "c"] { try await component.put(name, "1") }
      let first = try await component.assets.listAssets(.init(pageSize: 2), context: anna)
      #expect(first.assets.map(\.name) == ["a", "b"])
      func next() async throws -> ListAssetsResponse {
        try await component.assets.listAssets(.init(pageSize: 2, pageToken: first.nextPageToken), context: anna)
      }
      #expect(try await next().assets.map(\.name) == ["c"])
      try await component.put("d", "1")
      #expect(await refusal { try await next() } == "ABORTED ZONE_CHANGED")
    }
  }

  @Test func watchStreamsChangesAfterItsToken() async throws {
    try await Fixture().run { component in
      try await component.put("a", "1")
      let token = try await component.list().resumeToken
      let watch = ZoneWatch(repository: component.repository, hub: component.zones.hub)
      try await component.put("a", "2")
      let (stream, continuation) = AsyncStream.makeStream(of: WatchZoneChangesResponse.self)
      let task = Task {
        try await watch.run(zone: NameRules.defaultZone, start: .token(token), user: "anna") { response in
          continuation.yield(response)
        }
      }
      var iterator = stream.makeAsyncIterator()
      #expect(await iterator.next()?.event == .started(.init()))
      let second = try #require(await iterator.next()?.told)
      #expect(second.revision == 2)
      try await component.put("b", "3")
      let third = try #require(await iterator.next()?.told)
      #expect(third.assets.map(\.name) == ["b"])
      component.endWatches()
      #expect(await failure { try await task.value }?.code == .unavailable)
    }
  }
}
