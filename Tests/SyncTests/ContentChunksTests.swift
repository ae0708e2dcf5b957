import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileStore
import ServiceTesting
import SyncContents
import TestSupport
import Testing

@testable import Sync

/// Contents on a server are rows of 1 MiB, stored and deleted in the transactions of their rows.
@Suite(.enabled(if: TestStore.usesPostgreSQL, "it concerns PostgreSQL")) struct ContentChunksTests {
  private func chunks(_ component: SyncComponent) throws -> [String] {
    try component.store.readSingleBlocking {
      try $0.query("SELECT name || ' ' || number FROM content_chunks ORDER BY name, number") { try $0.text(0) }
    }
  }

  @Test(arguments: [false, true]) func contentOfSeveralChunksIsReadFromAnyOffset(_ packs: Bool) async throws {
    let fixture = try Fixture(packs: packs)
    try await fixture.run { component in
      let content = document(bytes: 3 * ChunkTable.chunkBytes + 77)
      let upload = try await component.createUpload(content)
      try await component.send(upload.id, content)
      try await component.putUpload("a", upload.id)
      #expect(try chunks(component).count == (packs ? 2 : 4))
      #expect(try fixture.uploadFiles() == [])
      for offset in [0, 1, ChunkTable.chunkBytes - 60, 2 * ChunkTable.chunkBytes, content.count - 1] {
        #expect(try await component.download("a", from: Int64(offset)).content == Array(content[offset...]))
      }
    }
  }

  @Test func uploadResumesInAnotherProcess() async throws {
    let fixture = try Fixture()
    let content = document(bytes: 2 * ChunkTable.chunkBytes + 300_000)
    var id = ""
    var received: Int64 = 0
    try await fixture.run { component in
      id = try await component.createUpload(content).id
      try await component.send(id, content[..<(ChunkTable.chunkBytes + 500_000)])
      #expect(try fixture.uploadFiles() == [id])
    }
    try await fixture.run { component in
      received = try await component.progress(id).receivedBytes
      #expect(received == Int64((ChunkTable.chunkBytes + 500_000) / ContentBlock.sizeBytes * ContentBlock.sizeBytes))
      try await component.send(id, content[Int(received)...], offset: received)
      try await component.putUpload("a", id)
      #expect(try await component.download("a").content == content)
    }
  }

  @Test func largeContentOfAFailedCommitIsDeleted() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let text = "\"\(String(repeating: "x", count: ContentJournal.contentBytesMax))\""
      #expect(await refusal { try await component.put("a", text) { $0.etag = "\"7\"" } } != "")
      #expect(try chunks(component) == [])
      try await component.put("a", text)
      #expect(try chunks(component).count == 1)
      #expect(try await component.text("a") == text)
    }
  }

  @Test func commitWhoseBytesHaveVanishedIsRefused() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let content = document(bytes: 300_000)
      let contents = component.contents
      let check = ContentCheck(recordType: "Note", isStrict: false, limits: component.repository.limits)
      let summary = try contents.put(content, name: "t_1", check: check)
      contents.discard("t_1")
      let put = PutDraft(recordType: "Note", recordCount: 0, content: .stored(summary))
      let draft = CommitDraft(
        zone: NameRules.defaultZone, device: "phone", changes: [ChangeDraft(name: "a", etag: "", put: put, path: "")])
      let refused = await failure { try await component.repository.commit(draft, user: "anna", idempotency: nil) }
      #expect(refused?.code == .unavailable && refused?.reason == "CONTENTS_UNAVAILABLE")
      #expect(try await component.list().assets.isEmpty)
    }
  }

  @Test func purgesUnfinishedFilesOfACrash() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let kept = try await component.createUpload(document(bytes: 300_000)).id
      try await component.send(kept, document(bytes: 300_000)[..<200_000])
      for name in ["t_1", kept] {
        let file = try component.contents.create(name)
        try ContentBlock.mark.withUnsafeBytes { try file.write($0, at: 0) }
        try file.sync()
      }
      #expect(try await component.purgeOrphans(folders: 256, nowMs: fixture.clock.nowMs) == 0)
      let laterMs = fixture.clock.nowMs + Fixture.hourMs + 1
      #expect(try await component.purgeOrphans(folders: 256, nowMs: laterMs) == 1)
      #expect(try chunks(component) == ["\(kept) 0"])
    }
  }
}

/// A file in chunks behaves like a file.
@Suite(.enabled(if: TestStore.usesPostgreSQL, "it concerns PostgreSQL")) struct ChunkFileTests {
  @Test func randomWritesReadsAndResizesEqualThoseOfAnArray() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      var random = SystemRandomNumberGenerator()
      let store = component.store
      var model: [UInt8] = []
      var file = try ChunkFile.create("t_file", in: store)
      for _ in 0..<120 {
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
          let size = Int.random(in: 0...model.count)
          model.removeLast(model.count - size)
          try file.resize(Int64(size))
        case 1:
          try file.sync()
          file = try ChunkFile.open("t_file", in: store) ?? ChunkFile.create("t_file", in: store)
        case 2, 3:
          let place = Int.random(in: 0...model.count)
          let count = Int.random(in: 1...40_000)
          var buffer = [UInt8](repeating: 0, count: count)
          let read = try buffer.withUnsafeMutableBytes { try file.read($0, at: Int64(place)) }
          #expect(Array(buffer.prefix(read)) == Array(model[place...].prefix(count)))
        default:
          let place = Bool.random() ? model.count : Int.random(in: 0...model.count)
          let bytes = [UInt8](repeating: UInt8.random(in: 0...255), count: Int.random(in: 1...400_000))
          model.replaceSubrange(place..<min(model.count, place + bytes.count), with: bytes)
          try bytes.withUnsafeBytes { try file.write($0, at: Int64(place)) }
        }
        #expect(file.sizeBytes() == Int64(model.count))
      }
    }
  }
}
