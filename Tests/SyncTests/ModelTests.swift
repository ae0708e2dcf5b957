import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import FoundationEssentials
import ServiceTesting
import TestSupport
import Testing

@testable import Sync

/// Random commits, restarts and purges, compared with a model of a zone.
@Suite struct ModelTests {
  private struct Model {
    var revision: Int64 = 0
    var contents: [String: (text: String, version: Int64)] = [:]
    var revisions: [(Int64, [String])] = []
  }

  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func agreesWithTheModel(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    var limits = SyncLimits()
    limits.revisionsMax = 12
    let fixture = try Fixture(limits, packs: seed % 2 == 0)
    var model = Model()
    var component = try await fixture.open()
    try await component.register("phone", .writer)
    for step in 0..<150 {
      switch Int.random(in: 0..<20, using: &random) {
      case 0:
        await component.close()
        component = try await fixture.open()
      case 1:
        fixture.clock.advance(by: .milliseconds(Int64.random(in: 0..<2 * Fixture.hourMs, using: &random)))
        try await component.maintain(nowMs: fixture.clock.nowMs)
      case 2: try await compare(component, model)
      default: try await change(component, &model, step, &random)
      }
    }
    try await compare(component, model)
    fixture.clock.advance(by: .milliseconds(40 * Fixture.dayMs))
    for _ in 0..<3 {
      try await component.maintain(nowMs: fixture.clock.nowMs)
      fixture.clock.advance(by: .milliseconds(2 * Fixture.hourMs))
    }
    try await compare(component, model, hasHistory: false)
    // Only referenced contents remain on disk, each once.
    try await component.settleContents()
    #expect(try fixture.contentFiles().count == Set(model.contents.values.map(\.text)).count)
    let sizes = model.contents.values.reduce(0) { $0 + $1.text.utf8.count }
    let zone = try await component.zones.getZone(.init(), context: anna).zone
    #expect(zone?.storage?.usedBytes == Int64(sizes))
    #expect(try await component.repository.storage(user: "anna").usedBytes == Int64(sizes))
    await component.close()
  }

  private func change(
    _ component: SyncComponent, _ model: inout Model, _ step: Int, _ random: inout SplitMix64
  ) async throws {
    let names = ["a", "b", "c", "d", "e"].shuffled(using: &random).prefix(Int.random(in: 1...3, using: &random))
    var next = model
    next.revision += 1
    var changes: [AssetChange] = []
    var isRefused = false
    for name in names {
      let current = model.contents[name]
      if Int.random(in: 0..<5, using: &random) == 0 {
        isRefused = isRefused || current == nil
        next.contents[name] = nil
        changes.append(AssetChange(change: .delete(AssetDelete(name: name))))
        continue
      }
      let text = "\"\(String(repeating: "x", count: Int.random(in: 0..<40, using: &random)))\""
      var put = AssetPut.of(name, text)
      switch Int.random(in: 0..<6, using: &random) {
      case 0:
        put.etag = "v\(Int64.random(in: 1...max(1, model.revision), using: &random))"
        isRefused = isRefused || put.etag != current.map { "v\($0.version)" }
      case 1:
        put.mustNotExist = true
        isRefused = isRefused || current != nil
      default: break
      }
      next.contents[name] = (text, next.revision)
      changes.append(AssetChange(change: .put(put)))
    }
    next.revisions.append((next.revision, names.sorted()))
    let all = changes
    let error = await failure { try await component.commit(all) }
    #expect((error != nil) == isRefused, "step \(step): \(String(describing: error))")
    if !isRefused { model = next }
  }

  private func compare(_ component: SyncComponent, _ model: Model, hasHistory: Bool = true) async throws {
    let list = try await component.list()
    #expect(list.revision == model.revision)
    #expect(list.assets.map(\.name) == model.contents.keys.sorted())
    for asset in list.assets {
      let expected = try #require(model.contents[asset.name])
      #expect(asset.version == expected.version)
      #expect(try await component.text(asset.name) == expected.text)
      #expect(asset.sha256 == (try hash(Array(expected.text.utf8))))
    }
    guard hasHistory, model.revision > 0 else { return }
    let first = max(0, model.revision - 12)
    let epoch = component.repository.epoch
    let zone = try await component.repository.zone(NameRules.defaultZone, user: "anna")
    let token = ZonePosition(epoch: epoch, zone: zone.number, revision: first).text(user: "anna")
    let changes = try await component.changes(since: token)
    let expected = model.revisions.filter { $0.0 > first }
    #expect(changes.changes.map(\.revision) == expected.map(\.0))
    #expect(changes.changes.map { $0.assets.map(\.name) } == expected.map(\.1))
  }

  /// A process that ends between naming a file and committing its row leaves an invisible file, which is deleted after
  /// the grace time. The same holds for one that ends in the middle of a file.
  @Test(.onSQLite) func purgesFilesOfACrashBeforeCommit() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      try await component.put("a", "[1]")
      try await component.settleContents()
      // Small contents have no file before their commit.
      let blank = String(repeating: " ", count: ContentJournal.contentBytesMax)
      for text in ["[1]", "[2]\(blank)", "[3]\(blank)"] {
        _ = try component.contents.put(
          Array(text.utf8), name: "t_\(text.prefix(3))",
          check: ContentCheck(recordType: "Note", isStrict: false, limits: component.repository.limits))
      }
      var writer = try ContentWriter.begin(
        try component.contents.create("t_half"), packs: false,
        check: ContentCheck(recordType: "Note", isStrict: false, limits: component.repository.limits))
      try Array("[1,".utf8).withUnsafeBytes { try writer.append($0) }
    }
    #expect(try fixture.contentFiles().count == 3)
    #expect(try fixture.uploadFiles() == ["t_half"])
    try await fixture.run { component in
      let list = try await component.list()
      #expect(list.assets.count == 1)
      // File times follow the machine's clock.
      let machineMs = Int64(Date().timeIntervalSince1970 * 1_000)
      #expect(try await component.purgeOrphans(folders: 256, nowMs: machineMs) == 0)
      #expect(try await component.purgeOrphans(folders: 256, nowMs: machineMs + Fixture.hourMs + 1_000) == 3)
      #expect(try fixture.contentFiles().count == 1)
      #expect(try fixture.uploadFiles() == [])
      #expect(try await component.text("a") == "[1]")
    }
  }

  @Test func purgesContentsOfDeletedZones() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      for number in 0..<30 { try await component.put("a\(number % 3)", "\(number)") }
      #expect(
        await refusal { try await component.zones.deleteZone(.init(), context: anna) }
          == "FAILED_PRECONDITION ZONE_NOT_EMPTY")
      _ = try await component.zones.deleteZone(.init(force: true), context: anna)
      #expect(try await component.list().assets.isEmpty == true)
      #expect(try await component.repository.storage(user: "anna").usedBytes == 0)
      for _ in 0..<2 {
        try await component.maintain(nowMs: fixture.clock.nowMs)
        fixture.clock.advance(by: .milliseconds(2 * Fixture.hourMs))
      }
      try await component.maintain(nowMs: fixture.clock.nowMs)
      #expect(try fixture.contentFiles() == [])
      #expect(
        await refusal { try await component.zones.deleteZone(.init(force: true), context: anna) }
          == "NOT_FOUND ZONE_NOT_FOUND")
    }
  }
}
