import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileStore
import FoundationEssentials
import ServiceTesting
import SyncContents
import Testing

@testable import Sync

@Suite(.onSQLite) struct BackupTests {
  @Test(arguments: [false, true])
  func backupContainsAllContents(packs: Bool) async throws {
    let fixture = try Fixture(packs: packs)
    let large = String(decoding: document(bytes: 400_000), as: UTF8.self)
    try await fixture.run { component in
      try await component.put("a", "1")
      try await component.put("a", "[2]")
      try await component.put("large", large)
      _ = try await component.store.backup(to: fixture.path("copy.sqlite"))
      // Changes after the copy of the database do not matter.
      try await component.put("later", "3")
      _ = try await component.assets.deleteAsset(.init(deviceId: "phone", name: "large"), context: anna)
      let report = try ContentsBackup.run(
        database: fixture.path("copy.sqlite"), from: fixture.contentsFolder, to: fixture.path("copy"))
      #expect(report.contentCount == 3)
      #expect(report.damagedCount == 0)
      #expect(report.folder == fixture.path("copy"))
    }
    let restored = try await fixture.open(database: "copy.sqlite", contents: "copy")
    #expect(try await restored.text("a") == "[2]")
    #expect(try await restored.text("a", version: 1) == "1")
    #expect(try await restored.text("large") == large)
    #expect(await refusal { try await restored.text("later") } == "NOT_FOUND ASSET_NOT_FOUND")
    try await restored.put("a", "4")
    #expect(try await restored.text("a") == "4")
    await restored.close()
  }

  @Test func reportsDamagedContentsAndCopiesTheOthers() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      try await component.put("a", "1")
      try await component.put("b", "2")
      try await component.put("c", "3")
      try await component.settleContents()
      _ = try await component.store.backup(to: fixture.path("copy.sqlite"))
      let paths = try ["1", "2"].map { text in
        try "\(fixture.contentsFolder)/contents/\(hash(Array(text.utf8)).prefix(2))/\(hash(Array(text.utf8)))"
      }
      var bytes = Array(try Data(contentsOf: URL(filePath: paths[0])))
      bytes[ContentBlock.mark.count + ContentBlock.headerBytes] ^= 1
      try Data(bytes).write(to: URL(filePath: paths[0]))
      try FileManager.default.removeItem(atPath: paths[1])
      let report = try ContentsBackup.run(
        database: fixture.path("copy.sqlite"), from: fixture.contentsFolder, to: fixture.path("copy"))
      #expect(report.contentCount == 1)
      #expect(report.damagedCount == 2)
      #expect(Set(report.damaged) == Set(try ["1", "2"].map { try hash(Array($0.utf8)) }))
      let copied = try FileManager.default.subpathsOfDirectory(atPath: fixture.path("copy/contents"))
      #expect(
        try copied.filter { $0.count > 3 }
          == ["3"].map { try "\(hash(Array($0.utf8)).prefix(2))/\(hash(Array($0.utf8)))" })
      // An existing folder belongs to another backup.
      let again = await refusal {
        try ContentsBackup.run(
          database: fixture.path("copy.sqlite"), from: fixture.contentsFolder, to: fixture.path("copy"))
      }
      #expect(again == "UNAVAILABLE CONTENTS_UNAVAILABLE")
    }
  }
}
