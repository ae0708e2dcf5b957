import CampanileAPI
import CampanileBase
import CampanileCrypto
import CampanileRPC
import CampanileStore
import FoundationEssentials
import ServiceTesting
import Testing

@testable import Sync

/// Small contents reach the disk in the log of their commit first. Readers and the next start find them, whatever
/// happens to their files before these are synced.
@Suite(.onSQLite) struct ContentJournalTests {
  private func journaled(_ component: SyncComponent) throws -> Int {
    try component.store.readSingleBlocking {
      try $0.queryOne("SELECT count(*) FROM content_journal") { try $0.integer(0) }.map(Int.init) ?? 0
    }
  }

  @Test func smallContentStaysInJournalUntilSettled() async throws {
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
      #expect(try component.contentFolder.journalBudget.counts.isEmpty)
      #expect(try await component.text("a") == #"{"a":1}"#)
      #expect(try await component.text("b") == #"{"b":1}"#)
    }
  }

  /// The possible states of an unsynced file after a power failure: missing, empty, or zeros.
  @Test(arguments: ["removed", "empty", "zeros"])
  func fileLostInPowerFailureIsRewritten(_ damage: String) async throws {
    for isJournaled in [true, false] {
      let fixture = try Fixture()
      try await fixture.run { component in
        try await component.put("a", #"{"a":1}"#)
        // Written but not synced, as after a power failure while settling.
        let content = try #require(component.contentFolder.journalBudget.counts.keys.first)
        let image = try #require(component.contentFolder.journalBudget.image(of: content))
        try component.contentFolder.write(content, file: image, name: "unsynced")
        // Control case: without the journal the content is lost.
        if !isJournaled { try await component.store.write { try $0.execute("DELETE FROM content_journal") } }
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

  @Test func missingFileIsWrittenWhenSettled() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      try await component.put("a", #"{"a":1}"#)
      #expect(try fixture.contentFiles() == [])
      try await component.settleContents()
      #expect(try journaled(component) == 0)
      #expect(try await component.text("a") == #"{"a":1}"#)
    }
  }

  @Test func existingContentIsNotJournaled() async throws {
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

  @Test func contentPutTwiceIsHeldUntilBothAreSettled() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      try await component.put("a", #"{"a":1}"#)
      try await component.put("b", #"{"a":1}"#)
      #expect(try component.contentFolder.journalBudget.counts.values.map(\.self) == [2])
      try await component.settleContents()
      #expect(try journaled(component) == 0)
      #expect(try component.contentFolder.journalBudget.counts.isEmpty)
      #expect(try await component.text("b") == #"{"a":1}"#)
    }
  }

  @Test func contentOfRunningCommitIsNotSettled() async throws {
    let fixture = try Fixture()
    let component = try await fixture.open()
    let contents = try component.contentFolder
    let check = ContentCheck(recordType: "Note", isStrict: false, limits: SyncLimits())
    let summary = try contents.put(Array("1".utf8), name: "t_1", check: check)
    #expect(contents.heldForFinishedCommits() == [:])
    contents.unpin(summary.digest)
    #expect(contents.heldForFinishedCommits() == [summary.digest: 1])
    contents.journalBudget.give(back: [summary.digest: 5])
    #expect(contents.journalBudget.counts == [:])
    #expect(throws: RPCError.self) { try contents.open(summary.digest, sizeBytes: 1) }
    await component.close()
  }

  @Test func failedCommitLeavesNoContent() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      try await component.put("b", "1")
      let refused = await refusal { try await component.put("a", #"{"a":1}"#) { $0.etag = "\"7\"" } }
      #expect(refused != "")
      #expect(try journaled(component) == 1)
      #expect(try component.contentFolder.journalBudget.counts.count == 1)
      try await component.settleContents()
      #expect(try fixture.contentFiles().count == 1)
    }
  }

  @Test func largeContentIsWrittenToDiskAtOnce() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      try await component.put("a", "\"\(String(repeating: "x", count: ContentJournal.contentBytesMax))\"")
      #expect(try journaled(component) == 0)
      #expect(try fixture.contentFiles().count == 1)
    }
  }

  @Test func journalIsBounded() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      for number in 0..<ContentJournal.pendingFilesMax + 3 { try await component.put("a", "\(number)") }
      #expect(try journaled(component) == ContentJournal.pendingFilesMax)
      try await component.settleContents()
      #expect(try journaled(component) == 0)
      try await component.put("a", "-1")
      #expect(try journaled(component) == 1)
    }
    let room = JournalBudget()
    let content = try SHA256.digest(Array("1".utf8))
    #expect(room.take(content, [UInt8](repeating: 0, count: ContentJournal.pendingBytesMax)))
    #expect(!room.take(content, [0]))
    #expect(!room.beginSettling(), "nothing has been committed yet")
    room.committed()
    #expect(room.beginSettling())
    #expect(!room.beginSettling())
    #expect(!room.take(content, [0]), "unsettled bytes still count")
    room.give(back: [content: 1])
    #expect(room.take(content, [0]))
  }

  @Test func contentWithoutRowIsNotReplayed() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      try await component.put("a", #"{"a":1}"#)
      try await component.store.write { try $0.execute("DELETE FROM contents") }
    }
    let component = try await fixture.open()
    #expect(try fixture.contentFiles() == [])
    await component.close()
  }
}
