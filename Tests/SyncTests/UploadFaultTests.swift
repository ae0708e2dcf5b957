import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import FoundationEssentials
import ServiceTesting
import SyncContents
import TestSupport
import Testing

@testable import Sync

#if canImport(Glibc)
  import Glibc
#endif

@Suite struct UploadFaultTests {
  private func begin(_ component: SyncComponent, _ id: String, offset: Int64 = 0) async throws -> UploadRun {
    try #require(try await component.beginUpload(id, offset: offset))
  }

  private func chunk(_ bytes: some Collection<UInt8>) -> UploadContentRequest.UploadChunk {
    .init(data: Array(bytes))
  }

  @Test func streamFailsAfterItsUploadIsCancelled() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let content = document(bytes: 300_000)
      let id = try await component.createUpload(content).id
      let run = try await begin(component, id)
      try await run.take(chunk(content[..<100_000]))
      _ = try await component.uploads.cancelUpload(.init(uploadId: id), context: anna)
      #expect(await refusal { try await run.take(chunk(content[100_000..<200_000])) } == "NOT_FOUND UPLOAD_NOT_FOUND")
      await run.end(after: RPCError.uploadNotFound(id))
      #expect(!component.uploads.uploadTable.knows(id))
      #expect(try fixture.uploadFiles() == [])
    }
  }

  @Test func streamThatOutlivesItsUploadLeavesNoFile() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let content = document(bytes: 300_000)
      let id = try await component.createUpload(content).id
      let run = try await begin(component, id)
      try await run.take(chunk(content[..<100_000]))
      fixture.clock.advance(by: .milliseconds(2 * Fixture.hourMs))
      // The purge skips uploads with an active stream; the connection breaks afterwards.
      try await component.maintain(nowMs: fixture.clock.nowMs)
      await run.end(after: CancellationError())
      #expect(!component.uploads.uploadTable.knows(id))
      #expect(try fixture.uploadFiles() == [])
    }
  }

  @Test func idleStreamDoesNotKeepItsUpload() async throws {
    var limits = SyncLimits()
    limits.uploadsMax = 1
    let fixture = try Fixture(limits)
    try await fixture.run { component in
      try await component.register("phone", .writer, bruno)
      let content = document(bytes: 300_000)
      let id = try await component.createUpload(content).id
      let run = try await begin(component, id)
      // A slow stream is not idle.
      for part in 0..<20 {
        try await run.take(chunk(content[part * 1_000..<(part + 1) * 1_000]))
        fixture.clock.advance(by: .milliseconds(Fixture.hourMs / 2))
        try await component.maintain(nowMs: fixture.clock.nowMs)
        #expect(try await component.progress(id).receivedBytes == Int64(part + 1) * 1_000)
      }
      #expect(
        await refusal { try await component.createUpload(content, bruno) }
          == "RESOURCE_EXHAUSTED UPLOADS_EXHAUSTED")
      fixture.clock.advance(by: .milliseconds(Fixture.hourMs))
      try await component.maintain(nowMs: fixture.clock.nowMs)
      _ = try await component.createUpload(content, bruno)
      #expect(await refusal { try await run.take(chunk(content[20_000..<21_000])) } == "NOT_FOUND UPLOAD_NOT_FOUND")
      await run.end(after: CancellationError())
      #expect(try fixture.uploadFiles() == [])
    }
  }

  @Test func uploadCanBeRestartedDuringProgressRequests() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let content = document(bytes: 150_000)
      for round in 0..<60 {
        let id = try await component.createUpload(content).id
        try await component.send(id, content[..<140_000])
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<4 {
            group.addTask { for _ in 0..<20 { _ = try await component.progress(id) } }
          }
          group.addTask { try await component.send(id, content) }
          try await group.waitForAll()
        }
        #expect(try await component.progress(id).complete, "\(round)")
        try await component.putUpload("a", id)
      }
      #expect(try fixture.uploadFiles() == [])
    }
  }

  #if os(Linux)
    @Test(.onSQLite) func resumesAfterFullDisk() async throws {
      let fixture = try Fixture()
      try await fixture.run { component in
        let content = document(bytes: 600_000)
        let id = try await component.createUpload(content).id
        let run = try await begin(component, id)
        try await run.take(chunk(content[..<100_000]))
        try await run.take(chunk(content[100_000..<200_000]))
        try Self.fillDisk(under: component.contentFolder.uploadPath(id))
        let full = await failure { try await run.take(chunk(content[200_000..<300_000])) }
        #expect(full?.reason == "DISK_FULL")
        await run.end(after: full)
        // Only the bytes in the file: those of the rejected chunk do not count.
        let received = try await component.progress(id).receivedBytes
        #expect(received == Int64(ContentBlock.sizeBytes))
        try await component.send(id, content[Int(received)...], offset: received)
        try await component.putUpload("a", id)
        #expect(try await component.download("a").content == content)
      }
    }

    @Test(.onSQLite) func startsOverAfterFailedSync() async throws {
      let fixture = try Fixture()
      try await fixture.run { component in
        let content = document(bytes: 200_000)
        let id = try await component.createUpload(content).id
        let run = try await begin(component, id)
        try await run.take(chunk(content[..<131_072]))
        try await run.take(chunk(content[131_072...]))
        try Self.fillDisk(under: component.contentFolder.uploadPath(id))
        let failed = await failure { try await run.finish() }
        #expect(failed != nil)
        await run.end(after: failed)
        #expect(try await component.progress(id).receivedBytes == 0)
        try await component.send(id, content)
        try await component.putUpload("a", id)
        #expect(try await component.download("a").content == content)
      }
    }

    /// Makes every further write to the open file at `path` fail with a full disk.
    private static func fillDisk(under path: String) throws {
      let name = try #require(path.split(separator: "/").last)
      let full = Glibc.open("/dev/full", O_RDWR | O_CLOEXEC)
      #expect(full >= 0)
      defer { close(full) }
      var found = 0
      for entry in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(entry)")
        guard let target, target.hasSuffix(name), let descriptor = Int32(entry) else { continue }
        #expect(dup2(full, descriptor) == descriptor)
        found += 1
      }
      #expect(found == 1)
    }
  #endif
}
