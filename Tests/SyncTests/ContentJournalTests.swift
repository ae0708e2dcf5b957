import CampanileAPI
import CampanileCrypto
import CampanileStore
import FoundationEssentials
import Testing

@testable import Sync

/// Small contents reach the disk in the commit's own log first; whatever becomes of their files until they are synced, they
/// are there at the next start.
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
      #expect(try fixture.contentFiles().count == 2)
      #expect(try fixture.uploadFiles() == [])
      try await component.settleContents()
      #expect(try journaled(component) == 0)
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
      try FileManager.default.removeItem(atPath: try #require(try fixture.contentFiles().first))
      try await component.settleContents()
      #expect(try journaled(component) == 0)
      #expect(try await component.text("a") == #"{"a":1}"#)
    }
  }

  @Test func aContentThatIsThereIsNotJournaled() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      try await component.put("a", #"{"a":1}"#)
      try await component.put("b", #"{"a":1}"#)
      #expect(try journaled(component) == 1)
      #expect(try fixture.contentFiles().count == 1)
      #expect(try fixture.uploadFiles() == [])
    }
  }

  @Test func aCommitThatFailsLeavesNothing() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      try await component.put("b", "1")
      let refused = await refusal { try await component.put("a", #"{"a":1}"#) { $0.ifMatch = "\"7\"" } }
      #expect(refused != "")
      #expect(try journaled(component) == 1)
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
    #expect(room.take(ContentJournal.pendingBytesMax))
    #expect(!room.take(1))
    #expect(room.beginSettling() == nil, "nothing was committed yet")
    room.committed()
    let taken = try #require(room.beginSettling())
    room.settlingFailed(taken)
    #expect(!room.take(1), "what could not be settled still takes its room")
    #expect(room.beginSettling() == taken)
    #expect(room.take(1))
  }

  @Test func aContentWhoseRowIsGoneIsNotBroughtBack() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      try await component.put("a", #"{"a":1}"#)
      _ = try await component.store.write { try $0.execute("DELETE FROM contents") }
    }
    try FileManager.default.removeItem(atPath: try #require(try fixture.contentFiles().first))
    let component = try await fixture.open()
    #expect(try fixture.contentFiles() == [])
    await component.close()
  }
}
