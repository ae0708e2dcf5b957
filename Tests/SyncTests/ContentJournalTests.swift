import CampanileAPI
import CampanileCrypto
import CampanileRPC
import CampanileStore
import FoundationEssentials
import Testing

@testable import Sync

/// Small contents reach the disk in the commit's own log first; whatever becomes of their files until they are synced, they
/// are there for readers and at the next start.
@Suite struct ContentJournalTests {
  private func journaled(_ component: SyncComponent) throws -> Int {
    try component.store.readSingle {
      try $0.queryOne("SELECT count(*) FROM content_journal") { try $0.integer(0) }.map(Int.init) ?? 0
    }
  }

  @Test func aSmallContentWaitsInTheJournalUntilItIsSettled() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      try await component.put("a", #"{"a":1}"#)
      try await component.put("b", #"{"b":1}"#)
      #expect(try journaled(component) == 2)
      #expect(try fixture.contentFiles() == [])
      #expect(try await component.text("a") == #"{"a":1}"#)
      try await component.settleContents()
      #expect(try journaled(component) == 0)
      #expect(try fixture.contentFiles().count == 2)
      #expect(try fixture.uploadFiles() == [])
      #expect(component.contents.journalRoom.counts.isEmpty)
      #expect(try await component.text("a") == #"{"a":1}"#)
      #expect(try await component.text("b") == #"{"b":1}"#)
    }
  }

  /// What a power cut leaves of a file that was not synced: nothing, a part, or zeros.
  @Test(arguments: ["removed", "empty", "zeros"])
  func aFileThatAPowerCutTookIsWrittenAnew(_ damage: String) async throws {
    for isJournaled in [true, false] {
      let fixture = try Fixture()
      try await fixture.run { component in
        try await component.put("a", #"{"a":1}"#)
        // Written and not synced, as when the power goes in the middle of settling.
        let content = try #require(component.contents.journalRoom.counts.keys.first)
        let image = try #require(component.contents.journalRoom.image(of: content))
        try component.contents.write(content, file: image, name: "unsynced")
        // The control: without the journal the content is lost.
        if !isJournaled { _ = try await component.store.write { try $0.execute("DELETE FROM content_journal") } }
      }
      let file = try #require(try fixture.contentFiles().first)
      let sizeBytes = try Data(contentsOf: URL(fileURLWithPath: file)).count
      try FileManager.default.removeItem(atPath: file)
      if damage != "removed" {
        try Data(count: damage == "empty" ? 0 : sizeBytes).write(to: URL(fileURLWithPath: file))
      }
      let component = try await fixture.open()
      #expect(try journaled(component) == 0)
      if isJournaled {
        #expect(try await component.text("a") == #"{"a":1}"#)
      } else {
        #expect(await refusal { try await component.text("a") }.hasPrefix("DATA_LOSS"))
      }
      #expect(try fixture.uploadFiles() == [])
      await component.close()
    }
  }

  @Test func aFileThatIsMissingWhenItIsSettledIsWrittenAnew() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      try await component.put("a", #"{"a":1}"#)
      #expect(try fixture.contentFiles() == [])
      try await component.settleContents()
      #expect(try journaled(component) == 0)
      #expect(try await component.text("a") == #"{"a":1}"#)
    }
  }

  @Test func aContentThatIsThereIsNotJournaled() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      try await component.put("a", #"{"a":1}"#)
      try await component.settleContents()
      try await component.put("b", #"{"a":1}"#)
      #expect(try journaled(component) == 0)
      #expect(try fixture.contentFiles().count == 1)
      #expect(try fixture.uploadFiles() == [])
    }
  }

  @Test func aContentThatIsPutTwiceBeforeItIsSettledStaysUntilBothAre() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      try await component.put("a", #"{"a":1}"#)
      try await component.put("b", #"{"a":1}"#)
      #expect(component.contents.journalRoom.counts.values.map(\.self) == [2])
      try await component.settleContents()
      #expect(try journaled(component) == 0)
      #expect(component.contents.journalRoom.counts.isEmpty)
      #expect(try await component.text("b") == #"{"a":1}"#)
    }
  }

  @Test func whatACommitUnderWayHoldsIsNotSettledWithOthers() throws {
    let fixture = try Fixture()
    let contents = try ContentStore(folder: fixture.path("own"), packs: false)
    let check = ContentCheck(recordType: "Note", isStrict: false, limits: SyncLimits())
    let facts = try contents.put(Array("1".utf8), name: "t_1", check: check)
    #expect(contents.heldForFinishedCommits() == [:])
    contents.unpin(facts.digest)
    #expect(contents.heldForFinishedCommits() == [facts.digest: 1])
    contents.journalRoom.give(back: [facts.digest: 5])
    #expect(contents.journalRoom.counts == [:])
    #expect(throws: RPCError.self) { try contents.open(facts.digest, sizeBytes: 1) }
  }

  @Test func aCommitThatFailsLeavesNothing() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      try await component.put("b", "1")
      let refused = await refusal { try await component.put("a", #"{"a":1}"#) { $0.ifMatch = "\"7\"" } }
      #expect(refused != "")
      #expect(try journaled(component) == 1)
      #expect(component.contents.journalRoom.counts.count == 1)
      try await component.settleContents()
      #expect(try fixture.contentFiles().count == 1)
    }
  }

  @Test func aLargeContentIsPutOnTheDiskAtOnce() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      try await component.put("a", "\"\(String(repeating: "x", count: ContentJournal.contentBytesMax))\"")
      #expect(try journaled(component) == 0)
      #expect(try fixture.contentFiles().count == 1)
    }
  }

  @Test func theJournalIsBounded() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      for number in 0..<ContentJournal.pendingFilesMax + 3 { try await component.put("a", "\(number)") }
      #expect(try journaled(component) == ContentJournal.pendingFilesMax)
      try await component.settleContents()
      #expect(try journaled(component) == 0)
      try await component.put("a", "-1")
      #expect(try journaled(component) == 1)
    }
    let room = JournalRoom()
    let content = try SHA256.digest(Array("1".utf8))
    #expect(room.take(content, [UInt8](repeating: 0, count: ContentJournal.pendingBytesMax)))
    #expect(!room.take(content, [0]))
    #expect(!room.beginSettling(), "nothing was committed yet")
    room.committed()
    #expect(room.beginSettling())
    #expect(!room.beginSettling())
    #expect(!room.take(content, [0]), "what is not settled still takes its room")
    room.give(back: [content: 1])
    #expect(room.take(content, [0]))
  }

  @Test func aContentWhoseRowIsGoneIsNotBroughtBack() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      try await component.put("a", #"{"a":1}"#)
      _ = try await component.store.write { try $0.execute("DELETE FROM contents") }
    }
    let component = try await fixture.open()
    #expect(try fixture.contentFiles() == [])
    await component.close()
  }
}
