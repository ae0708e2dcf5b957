import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import ServiceTesting
import TestSupport
import Testing

@testable import Sync

/// A repeated request returns the first response, whatever has changed since.
@Suite struct RepetitionTests {
  @Test func createZoneIsDoneOnce() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      func create(_ id: String, _ requestID: String = "r") async throws -> Zone? {
        try await component.zones.createZone(.init(zoneId: id, requestId: requestID), context: anna).zone
      }
      let first = try await create("Z")
      try await component.put("a", "1", zone: "Z")
      #expect(try await create("Z") == first)
      #expect(await refusal { try await create("Y") } == "FAILED_PRECONDITION REQUEST_ID_REUSED")
      #expect(await refusal { try await create("Z", "") } == "ALREADY_EXISTS ZONE_EXISTS")
      #expect(await refusal { try await create("Z", "s") } == "ALREADY_EXISTS ZONE_EXISTS")
      #expect(try await component.zones.listZones(.init(), context: anna).zones.map(\.id) == ["Z"])
      fixture.clock.advance(by: .milliseconds(Fixture.dayMs + 1))
      #expect(await refusal { try await create("Z") } == "ALREADY_EXISTS ZONE_EXISTS")
    }
  }

  @Test func createUploadIsDoneOnce() async throws {
    let fixture = try Fixture()
    try await fixture.run { component in
      let content = document(bytes: 1_000)
      let digest = try hash(content)
      func create(size: Int64 = Int64(content.count)) async throws -> Upload {
        let request = CreateUploadRequest(
          deviceId: "phone", recordType: "Note", sizeBytes: size, sha256: digest, requestId: "r")
        return try #require(try await component.uploads.createUpload(request, context: anna).upload)
      }
      let first = try await create()
      #expect(try await create() == first)
      #expect(try await component.usage().openUploads == 1)
      #expect(await refusal { try await create(size: 7) } == "FAILED_PRECONDITION REQUEST_ID_REUSED")
      try await component.send(first.id, content)
      try await component.putUpload("a", first.id)
      // The upload was consumed, and the response is still the first one.
      #expect(try await create() == first)
      #expect(await refusal { try await component.progress(first.id) } == "NOT_FOUND UPLOAD_NOT_FOUND")
    }
  }

  @Test func mergedUploadIsConsumedOnce() async throws {
    try await Fixture().run { component in
      func buckets(_ name: String, hour: Int) -> [UInt8] {
        Array(
          ("{\"buckets\":[{\"id\":\"x\",\"name\":\"\(name)\",\"createdAt\":\"2026-01-01T00:00:00Z\","
            + "\"updatedAt\":\"2026-01-01T0\(hour):00:00Z\"}],\"syncTimestamp\":\"2026-01-01T00:00:00Z\"}").utf8)
      }
      for hour in 1...2 {
        try await component.put("b", "") { put in
          put.recordType = "BucketsData"
          put.content = .inlineContent(buckets("X\(hour)", hour: hour))
        }
      }
      let content = buckets("X3", hour: 3)
      let upload = try await component.createUpload(content, type: "BucketsData")
      try await component.send(upload.id, content)
      func put() async throws -> PutAssetResponse {
        try await component.assets.putAsset(
          .init(
            deviceId: "phone",
            put: .init(
              name: "b", recordType: "BucketsData", content: .uploadId(upload.id), baseEtag: "v1", onConflict: .merge),
            requestId: "r"), context: anna)
      }
      let first = try await put()
      #expect(first.merged)
      #expect(try await put() == first)
      #expect(try await component.history("b").count == 3)
    }
  }

  @Test func putWithoutATypeIsDoneOnce() async throws {
    try await Fixture().run { component in
      try await component.put("a", "1")
      func put() async throws -> PutAssetResponse {
        var put = AssetPut.of("a", "2")
        put.recordType = ""
        return try await component.assets.putAsset(
          .init(deviceId: "phone", put: put, requestId: "r"), context: anna)
      }
      let first = try await put()
      _ = try await component.assets.deleteAsset(.init(deviceId: "phone", name: "a"), context: anna)
      #expect(try await put() == first)
    }
  }

  @Test func versionIsRestoredOnce() async throws {
    var limits = SyncLimits()
    limits.revisionsMax = 2
    try await Fixture(limits).run { component in
      for text in ["1", "2"] { try await component.put("a", text) }
      func restore() async throws -> RestoreAssetVersionResponse {
        try await component.assets.restoreAssetVersion(
          .init(deviceId: "phone", name: "a", version: 1, requestId: "r"), context: anna)
      }
      let first = try await restore()
      // The restored version is displaced.
      try await component.put("a", "4")
      #expect(await refusal { try await component.text("a", version: 1) } == "NOT_FOUND VERSION_NOT_FOUND")
      #expect(try await restore() == first)
    }
  }

  @Test func messageIsPublishedOnceEvenIfItWasDropped() async throws {
    var limits = SyncLimits()
    limits.messagesPerUserMax = 2
    let fixture = try Fixture(limits)
    try await fixture.run { component in
      let first = try await component.publish(.notificationRead, "n_1", id: "m")
      for number in 0..<5 { _ = try await component.publish(.notificationRead, "n", id: "\(number)") }
      #expect(try await component.publish(.notificationRead, "n_1", id: "m") == first)
      #expect(
        await refusal { try await component.publish(.notificationRead, "n_2", id: "m") }
          == "FAILED_PRECONDITION REQUEST_ID_REUSED")
      // Each device chooses its own ids.
      let other = try await component.publish(.notificationRead, "n_2", from: "phone", id: "m")
      #expect(other.sequence == 7)
      // The message of the phone is stored for longer than its reply.
      fixture.clock.advance(by: .milliseconds(2 * Fixture.dayMs))
      try await component.maintain(nowMs: fixture.clock.nowMs)
      #expect(try await component.publish(.notificationRead, "n_2", from: "phone", id: "m") == other)
      let reused = await failure { try await component.publish(.notificationRead, "n_3", from: "phone", id: "m") }
      #expect(reused?.reason == "REQUEST_ID_REUSED")
      #expect(reused?.fieldViolations.map(\.field) == ["requestId"])
    }
  }
}
