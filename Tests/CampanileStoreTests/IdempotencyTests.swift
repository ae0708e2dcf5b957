import CampanileStore
import Synchronization
import Testing

@Suite struct IdempotencyTests {
  private let key = IdempotencyKey(principal: "user-1", method: "x.v1.S/Create", requestID: "r-1")

  private struct Reply: Sendable {
    var bytes: [UInt8]
    /// Whether it is the reply of an earlier run.
    var isStored: Bool
  }

  private func create(
    _ store: Store, _ key: IdempotencyKey, hash: [UInt8] = [1], nowMs: Int64 = 1_000, id: String = "a",
    failing: Bool = false
  ) async throws -> Reply {
    try await store.write { transaction in
      if let bytes = try transaction.storedReply(key, requestHash: hash, nowMs: nowMs) {
        return Reply(bytes: bytes, isStored: true)
      }
      try transaction.execute("INSERT INTO rows (id, body) VALUES ($1, 'b')", [.text(id)])
      if failing { throw StoreError(.constraint, "refused") }
      let bytes = Array("reply to \(id)".utf8)
      let (expiresAtMs, isBeyond) = nowMs.addingReportingOverflow(ReplyRetention.retentionMs)
      try transaction.storeReply(bytes, key, requestHash: hash, expiresAtMs: isBeyond ? .max : expiresAtMs)
      return Reply(bytes: bytes, isStored: false)
    }
  }

  @Test func repeatReturnsFirstReply() async throws {
    try await withStore { store, _ in
      let first = try await create(store, key)
      let second = try await create(store, key, id: "b")
      #expect(!first.isStored)
      #expect(second.isStored)
      #expect(second.bytes == first.bytes)
      #expect(try await store.ids() == ["a"])
    }
  }

  @Test func reusedIDWithDifferentRequestIsRefused() async throws {
    try await withStore { store, _ in
      _ = try await create(store, key)
      await expect(.requestIDReused) { _ = try await create(store, key, hash: [2], id: "b") }
      #expect(try await store.ids() == ["a"])
    }
  }

  @Test func idsAreScopedToPrincipalAndMethod() async throws {
    try await withStore { store, _ in
      _ = try await create(store, key)
      var other = key
      other.principal = "user-2"
      #expect(try await !create(store, other, hash: [2], id: "b").isStored)
      other = key
      other.method = "x.v1.S/Other"
      #expect(try await !create(store, other, hash: [3], id: "c").isStored)
    }
  }

  @Test func failedRequestCanBeRetried() async throws {
    try await withStore { store, _ in
      await expect(.constraint) { _ = try await create(store, key, failing: true) }
      let kept = try await store.ids()
      #expect(kept.isEmpty)
      let retried = try await create(store, key)
      #expect(!retried.isStored)
    }
  }

  @Test func concurrentRepeatsChangeOnce() async throws {
    try await withStore { store, _ in
      let replies = try await withThrowingTaskGroup(of: Reply.self) { group in
        for index in 0..<50 { group.addTask { try await create(store, key, id: "row-\(index)") } }
        return try await group.reduce(into: [Reply]()) { $0.append($1) }
      }
      #expect(replies.filter { !$0.isStored }.count == 1)
      #expect(Set(replies.map(\.bytes)).count == 1)
      #expect(try await store.ids().count == 1)
    }
  }

  @Test func replyExpiresAfter24Hours() async throws {
    try await withStore { store, _ in
      _ = try await create(store, key, nowMs: 1_000)
      let last = 1_000 + ReplyRetention.retentionMs
      #expect(try await create(store, key, nowMs: last - 1, id: "b").isStored)
      #expect(try await !create(store, key, hash: [9], nowMs: last, id: "c").isStored)
      #expect(try await create(store, key, hash: [9], nowMs: last + 1, id: "d").isStored)
    }
  }

  @Test func purgeDeletesExpiredRepliesInBatches() async throws {
    try await withStore { store, _ in
      for index in 0..<25 {
        var own = key
        own.requestID = "r-\(index)"
        _ = try await create(store, own, nowMs: Int64(index), id: "row-\(index)")
      }
      let now = ReplyRetention.retentionMs + 19
      #expect(try await store.purgeIdempotency(nowMs: now, batchRows: 4, batchesMax: 2) == 8)
      #expect(try await store.purgeIdempotency(nowMs: now, batchRows: 4) == 12)
      #expect(try await store.purgeIdempotency(nowMs: now) == 0)
      var kept = key
      kept.requestID = "r-24"
      #expect(try await create(store, kept, nowMs: now, id: "z").isStored)
    }
  }

  @Test func extremeTimesDoNotTrap() async throws {
    try await withStore { store, _ in
      _ = try await create(store, key, nowMs: .max)
      _ = try await create(store, key, nowMs: .min, id: "b")
    }
  }
}
