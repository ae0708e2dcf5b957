import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileService
import FoundationEssentials
import ServiceTesting
import SyncContents
import TestSupport
import Testing

@testable import Sync

@Suite struct TransferTests {
  @Test(arguments: [false, true])
  func transfersContentsOfAnySize(packs: Bool) async throws {
    let fixture = try Fixture(packs: packs)
    try await fixture.run { component in
      for size in [1, 100, 131_071, 131_072, 131_073, 262_144, 1_000_003] {
        let content = size == 1 ? [0x37] : document(bytes: size)
        let upload = try await component.createUpload(content)
        try await component.send(upload.id, content, packs: packs)
        #expect(try await component.progress(upload.id).complete == true)
        let put = try await component.putUpload("a", upload.id)
        #expect(put.asset?.sizeBytes == Int64(content.count))
        #expect(try await component.download("a").content == content)
        #expect(try await component.download("a", packs: true).content == content)
        for offset in [0, 1, 131_071, 131_072, content.count - 1, content.count] where offset <= content.count {
          #expect(try await component.download("a", from: Int64(offset)).content == Array(content[offset...]))
        }
        #expect(await refusal { try await component.progress(upload.id) } == "NOT_FOUND UPLOAD_NOT_FOUND")
      }
      #expect(try fixture.uploadFiles() == [])
      #expect(try await component.usage().openUploads == 0)
    }
  }

  @Test func resumesAfterBreakAndRestart() async throws {
    let fixture = try Fixture()
    let content = document(bytes: 700_000)
    var id = ""
    try await fixture.run { component in
      id = try await component.createUpload(content).id
      try await component.send(id, content[..<300_000])
      let progress = try await component.progress(id)
      #expect(progress.receivedBytes == 300_000)
      #expect(progress.receivedSha256 == (try hash(Array(content[..<300_000]))))
      let wrong = await failure { try await component.send(id, content[200_000...], offset: 200_000) }
      #expect(wrong?.reason == "OFFSET_MISMATCH")
      #expect(wrong?.errorMetadata["receivedBytes"] == "300000")
      try await component.send(id, content[300_000..<500_000], offset: 300_000)
    }
    // In a new process, only complete blocks of the received bytes are valid.
    try await fixture.run { component in
      let progress = try await component.progress(id)
      let received = Int(progress.receivedBytes)
      #expect(received == 3 * ContentBlock.sizeBytes)
      #expect(progress.receivedSha256 == (try hash(Array(content[..<received]))))
      try await component.send(id, content[received...], offset: Int64(received))
      try await component.putUpload("a", id)
      #expect(try await component.download("a").content == content)
    }
  }

  @Test func uploadCanBeRestartedFromOffsetZero() async throws {
    try await Fixture().run { component in
      let content = document(bytes: 300_000)
      let id = try await component.createUpload(content).id
      try await component.send(id, content[..<200_000])
      try await component.send(id, content)
      #expect(try await component.progress(id).complete == true)
      // Sending a complete upload again changes nothing.
      try await component.send(id, content)
    }
  }

  @Test func deletesInvalidUploads() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let content = document(bytes: 300_000)
      func send(_ bytes: [UInt8], size: Int64? = nil, hash: String? = nil, type: String = "Note") async -> String {
        await refusal {
          let id = try await component.createUpload(bytes, type: type, size: size, hash: hash).id
          try await component.send(id, bytes)
        }
      }
      #expect(await send(content, hash: String(repeating: "0", count: 64)) == "INVALID_ARGUMENT HASH_MISMATCH")
      #expect(await send(content, size: 200_000) == "INVALID_ARGUMENT CONTENT_TOO_LARGE")
      #expect(await send(content + [0x5D]) == "INVALID_ARGUMENT JSON_INVALID")
      #expect(await send(Array(content.dropLast())) == "INVALID_ARGUMENT JSON_INVALID")
      #expect(await send(content, type: "BucketsData") == "INVALID_ARGUMENT CONTAINER_INVALID")
      #expect(await send(content, size: 250_000_001) == "INVALID_ARGUMENT CONTENT_TOO_LARGE")
      #expect(await send(content, size: 0) == "INVALID_ARGUMENT OUT_OF_RANGE")
      #expect(await send(content, hash: "x") == "INVALID_ARGUMENT HASH_INVALID")
      let usage = try await component.usage()
      #expect(usage.openUploads == 0)
      #expect(try fixture.uploadFiles() == [])
      #expect(try fixture.contentFiles() == [])
      #expect(
        await refusal { try await component.createUpload(content, device: "watch") }
          == "PERMISSION_DENIED DEVICE_READ_ONLY")
    }
  }

  @Test func refusesChunks() async throws {
    try await Fixture().run { component in
      let content = document(bytes: 300_000)
      let id = try await component.createUpload(content).id
      func take(_ change: (inout UploadContentRequest.UploadChunk) -> Void) async throws -> String {
        let start = UploadContentRequest.UploadStart(uploadId: id)
        let run = try #require(
          try await UploadRun.begin(
            start, user: "anna", repository: component.repository, contents: component.contents,
            uploadTable: component.uploads.uploadTable))
        var chunk = UploadContentRequest.UploadChunk()
        change(&chunk)
        let sent = chunk
        let result = await refusal { try await run.take(sent) }
        #expect(
          await refusal { try await component.send(id, content) } == "ABORTED UPLOAD_BUSY")
        await run.end(after: CancellationError())
        return result
      }
      #expect(try await take { $0.data = [] } == "INVALID_ARGUMENT CHUNK_INVALID")
      #expect(
        try await take { $0.data = [UInt8](repeating: 0x20, count: 131_073) } == "INVALID_ARGUMENT CHUNK_INVALID")
      #expect(
        try await take {
          $0.data = Array(content[..<10])
          $0.encoding = .gzip
        } == "INVALID_ARGUMENT CHUNK_INVALID")
      #expect(
        try await take {
          // A compression bomb: a megabyte of spaces in a kilobyte.
          $0.data =
            [UInt8](repeating: 0x20, count: 1 << 20).withUnsafeBytes { Deflate.pack($0, .gzip) } ?? []
          $0.encoding = .gzip
        } == "INVALID_ARGUMENT CHUNK_INVALID")
      #expect(
        try await take {
          $0.data = [0x20]
          $0.encoding = .init(rawValue: 9)
        } == "INVALID_ARGUMENT ENUM_UNKNOWN")
      #expect(try await component.progress(id).receivedBytes == 0)
    }
  }

  @Test func limitsAndPurgesUploads() async throws {
    var limits = SyncLimits()
    limits.uploadsPerUserMax = 2
    limits.uploadsMax = 3
    let fixture = try Fixture(limits)
    try await fixture.run { component in
      try await component.register("phone", .writer, bruno)
      let content = document(bytes: 300_000)
      let first = try await component.createUpload(content)
      try await component.send(first.id, content[..<200_000])
      let second = try await component.createUpload(content)
      #expect(await refusal { try await component.createUpload(content) } == "RESOURCE_EXHAUSTED UPLOADS_EXHAUSTED")
      _ = try await component.createUpload(content, bruno)
      #expect(
        await refusal { try await component.createUpload(content, bruno) }
          == "RESOURCE_EXHAUSTED UPLOADS_EXHAUSTED")
      try await component.send(second.id, content)
      #expect(
        await refusal {
          try await component.uploads.getUpload(.init(uploadId: first.id), context: bruno)
        }
          == "NOT_FOUND UPLOAD_NOT_FOUND")
      fixture.clock.advance(by: .milliseconds(Fixture.hourMs + 1))
      #expect(await refusal { try await component.progress(first.id) } == "NOT_FOUND UPLOAD_NOT_FOUND")
      try await component.maintain(nowMs: fixture.clock.nowMs)
      #expect(try await component.usage().openUploads == 0)
      #expect(try fixture.uploadFiles() == [])
      // The complete upload has left an unreferenced content.
      fixture.clock.advance(by: .milliseconds(2 * Fixture.hourMs))
      try await component.maintain(nowMs: fixture.clock.nowMs)
      #expect(try fixture.contentFiles() == [])
      #expect(try await component.usage().storedBytes == 0)
      _ = try await component.uploads.cancelUpload(.init(uploadId: first.id), context: anna)
    }
  }

  @Test func purgeCountsDeletedRows() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let content = document(bytes: 300_000)
      let idle = try await component.createUpload(content)
      let busy = try await component.createUpload(content)
      fixture.clock.advance(by: .milliseconds(Fixture.hourMs + 1))
      try component.uploads.uploadTable.begin(busy.id, nowMs: fixture.clock.nowMs)
      #expect(try await component.maintain(nowMs: fixture.clock.nowMs) == 1)
      #expect(await refusal { try await component.progress(idle.id) } == "NOT_FOUND UPLOAD_NOT_FOUND")
      component.uploads.uploadTable.end(busy.id)
      #expect(try await component.maintain(nowMs: fixture.clock.nowMs) == 1)
      for text in ["1", "2"] { try await component.put("a", text) }
      try await component.put("b", "3")
      _ = try await component.zones.deleteZone(.init(force: true), context: anna)
      // Three versions, two current assets and the zone.
      #expect(try await component.maintain(nowMs: fixture.clock.nowMs) == 6)
      #expect(try await component.maintain(nowMs: fixture.clock.nowMs) == 0)
    }
  }

  @Test func uploadIsUsedOnceForItsDeclaredType() async throws {
    try await Fixture().run { component in
      let content = document(bytes: 1_000)
      let upload = try await component.createUpload(content)
      #expect(
        await refusal { try await component.putUpload("a", upload.id) } == "FAILED_PRECONDITION UPLOAD_INCOMPLETE")
      try await component.send(upload.id, content)
      #expect(
        await refusal { try await component.putUpload("a", upload.id, type: "Other") }
          == "FAILED_PRECONDITION UPLOAD_MISMATCH")
      try await component.putUpload("a", upload.id)
      #expect(await refusal { try await component.putUpload("b", upload.id) } == "NOT_FOUND UPLOAD_NOT_FOUND")
      let digest = try hash(content)
      let known = try await component.put("b", "") { $0.content = .sha256(digest) }
      #expect(known.asset?.sizeBytes == Int64(content.count))
    }
  }

  @Test func neverServesDamagedContent() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let content = document(bytes: 300_000)
      let upload = try await component.createUpload(content)
      try await component.send(upload.id, content)
      try await component.putUpload("a", upload.id)
      let file = try #require(try fixture.contentFiles().first)
      let sound = try component.bytes(ofFile: file)
      // Every byte of the mark, headers and trailer, and some bytes of the contents.
      let second = 8 + 40 + 131_072
      var places = Array(0..<48) + Array(second..<second + 40) + Array(sound.count - 40..<sound.count)
      places += [60, 100_000, second + 50, sound.count - 50]
      for place in places {
        var damaged = sound
        damaged[place] ^= 0x10
        try await component.replace(file, damaged)
        var served: [UInt8] = []
        let error = await failure { served = try await component.download("a").content }
        #expect(error?.code == .dataLoss, "byte \(place)")
        #expect(error?.reason == "CONTENT_DAMAGED")
        #expect(served.isEmpty)
        #expect(await failure { try await component.text("a") }?.code == .dataLoss)
      }
      for size in [0, 7, 48, 1_000, sound.count - 1] {
        try await component.replace(file, sound.prefix(size))
        #expect(await failure { try await component.download("a") }?.code == .dataLoss)
      }
      try await component.replace(file, nil)
      #expect(await failure { try await component.download("a") }?.code == .dataLoss)
      // Uploading the same content again repairs it.
      let again = try await component.createUpload(content)
      try await component.send(again.id, content)
      #expect(try await component.download("a").content == content)
    }
  }

  @Test func storesEqualContentsOnceAndPurgesUnreferenced() async throws {
    var limits = SyncLimits()
    limits.revisionsMax = 1
    let fixture = try Fixture(limits)
    try await fixture.run { component in
      for name in ["a", "b", "c"] { try await component.put(name, "[1,2,3]") }
      try await component.register("phone", .writer, bruno)
      try await component.put("a", "[1,2,3]", bruno)
      try await component.settleContents()
      #expect(try fixture.contentFiles().count == 1)
      for name in ["a", "b", "c"] { try await component.put(name, "[4]") }
      try await component.maintain(nowMs: fixture.clock.nowMs)
      try await component.settleContents()
      #expect(try fixture.contentFiles().count == 2)
      try await component.put("a", "[5]", bruno)
      fixture.clock.advance(by: .milliseconds(Fixture.hourMs - 1))
      try await component.maintain(nowMs: fixture.clock.nowMs)
      try await component.settleContents()
      #expect(try fixture.contentFiles().count == 3)
      fixture.clock.advance(by: .milliseconds(2))
      try await component.maintain(nowMs: fixture.clock.nowMs)
      try await component.settleContents()
      #expect(try fixture.contentFiles().count == 2)
      #expect(try await component.text("a") == "[4]")
    }
  }
}
