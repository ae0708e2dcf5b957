import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService
import CampanileStore
import ServiceTesting
import SyncContents
import TestSupport
import Testing

@testable import Sync

/// Two processes on one database that receive the streams of one upload.
@Suite(.enabled(if: TestStore.usesPostgreSQL, "it concerns PostgreSQL")) struct UploadTakeoverTests {
  private let content = document(bytes: 3 * ChunkTable.chunkBytes + 300_000)

  private func withTwo(_ body: (SyncComponent, SyncComponent) async throws -> Void) async throws {
    let fixture = try Fixture()
    try await fixture.run { first in
      try await fixture.run { second in try await body(first, second) }
      #expect(try fixture.uploadFiles() == [])
    }
  }

  private func take(_ range: Range<Int>, _ run: UploadRun) async throws {
    for start in stride(from: range.lowerBound, to: range.upperBound, by: 100_000) {
      try await run.take(.init(data: Array(content[start..<min(start + 100_000, range.upperBound)])))
    }
  }

  @Test("an upload continues at another process, and the stream of the first one ends")
  func takeover() async throws {
    try await withTwo { first, second in
      let id = try await first.createUpload(content).id
      let run = try #require(try await first.beginUpload(id))
      try await take(0..<1_500_000, run)
      // A request for the progress does not take the upload.
      let received = try await second.progress(id).receivedBytes
      #expect(received == Int64(ChunkTable.chunkBytes / ContentBlock.sizeBytes - 1) * Int64(ContentBlock.sizeBytes))
      try await take(1_500_000..<1_600_000, run)

      try await second.send(id, content[Int(received)..<2_000_000], offset: received)
      let refused = await failure { try await take(1_600_000..<3_000_000, run) }
      #expect(refused?.code == .aborted && refused?.reason == "UPLOAD_BUSY")
      await run.end(after: refused)

      // The first process does not believe its own memory.
      let later = try await first.progress(id).receivedBytes
      #expect(later > received && later <= 2_000_000)
      try await first.send(id, content[Int(later)...], offset: later)
      #expect(try await second.progress(id).complete)
      try await second.putUpload("a", id)
      #expect(try await first.download("a").content == content)
    }
  }

  @Test("an upload that another process has completed or restarted is not completed again")
  func completion() async throws {
    try await withTwo { first, second in
      for restarts in [false, true] {
        let id = try await first.createUpload(content).id
        let run = try #require(try await first.beginUpload(id))
        try await take(0..<content.count, run)
        try await second.send(id, restarts ? content[..<1_300_000] : content[...])
        let refused = await failure { try await run.finish() }
        #expect(refused?.code == .aborted && refused?.reason == "UPLOAD_BUSY")
        await run.end(after: refused)
        let received = try await first.progress(id).receivedBytes
        if restarts { try await first.send(id, content[Int(received)...], offset: received) }
        try await first.putUpload("\(restarts)", id)
        #expect(try await second.download("\(restarts)").content == content)
      }
    }
  }

  @Test("wrong bytes at one process do not end an upload that another one continues")
  func wrongBytes() async throws {
    try await withTwo { first, second in
      let id = try await first.createUpload(content).id
      let run = try #require(try await first.beginUpload(id))
      try await take(0..<100_000, run)
      try await second.send(id, content[..<1_200_000])
      let tooLong = RPCError.invalidField("chunk.data", "is too long", .contentTooLarge)
      await run.end(after: UploadFailure(error: tooLong))
      let received = try await second.progress(id).receivedBytes
      try await second.send(id, content[Int(received)...], offset: received)
      try await first.putUpload("a", id)
      #expect(try await first.download("a").content == content)
    }
  }

  @Test("a process that gives an upload up does not delete what another one has received")
  func givingUp() async throws {
    try await withTwo { first, second in
      let id = try await first.createUpload(content).id
      try await first.send(id, content[..<100_000])
      try await second.send(id, content[..<1_200_000])
      first.uploads.uploadTable.discard(id, first.contents)
      let received = try await second.progress(id).receivedBytes
      #expect(received > 1_000_000)
      try await second.send(id, content[Int(received)...], offset: received)
      try await first.putUpload("a", id)
      #expect(try await first.download("a").content == content)
    }
  }

  @Test("a cancelled upload ends the stream at the other process")
  func cancellation() async throws {
    try await withTwo { first, second in
      let id = try await first.createUpload(content).id
      let run = try #require(try await first.beginUpload(id))
      try await take(0..<1_200_000, run)
      _ = try await second.uploads.cancelUpload(.init(uploadId: id), context: anna)
      let refused = await failure { try await take(1_200_000..<content.count, run) }
      #expect(refused?.code == .notFound && refused?.reason == "UPLOAD_NOT_FOUND")
      await run.end(after: refused)
      #expect(!first.uploads.uploadTable.knows(id))
    }
  }
}
