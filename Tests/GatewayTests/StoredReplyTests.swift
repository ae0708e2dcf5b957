import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileStore
import Foundation
import ServiceTesting
import TestSupport
import Testing

@testable import Gateway

/// The limits of stored replies, the callers that may receive them, and the secrets that they never hold.
@Suite struct StoredReplyTests {
  private static let method = CountingService.count.path

  /// Fills a gateway's database with replies of a principal, as calls would store them.
  private func fill(_ folder: TemporaryFolder, _ principal: String, count: Int, reply: [UInt8] = [1]) async throws {
    let store = try Store(TestStore.configuration(folder.file("gateway.sqlite")), migrations: Gateway.migrations)
    let expiresAtMs = Int64(Date().timeIntervalSince1970 * 1_000) + 3_600_000
    try await store.write { transaction in
      for number in 0..<count {
        try transaction.storeReply(
          reply, IdempotencyKey(principal: principal, method: Self.method, requestID: "old-\(number)"),
          requestHash: [0], expiresAtMs: expiresAtMs + Int64(number))
      }
    }
    await store.close()
  }

  @Test("a principal's new replies replace its oldest ones, and none of another principal")
  func oldestGiveWay() async throws {
    try await withReplies({ $0.principalRepliesMax = 2 }) { setting in
      let grace = try setting.harness.client(token: try await setting.harness.key("user/grace").secret)
      #expect(try await setting.call("g", key: "1", on: grace) == "g 1")
      for key in ["1", "2", "3"] { _ = try await setting.call("a\(key)", key: key) }
      #expect(try setting.rows(of: "user/ada") == 2 && setting.rows(of: "user/grace") == 1)
      #expect(try await setting.call("a3", key: "3") == "a3 1")
      #expect(try await setting.call("a2", key: "2") == "a2 1")
      #expect(try await setting.call("g", key: "1", on: grace) == "g 1")
      // The reply was removed, so the request is executed again.
      #expect(try await setting.call("a1", key: "1") == "a1 2")
      #expect(try setting.rows(of: "user/ada") == 2)
    }
  }

  @Test("replies are also limited by their bytes, and their count survives a restart")
  func bytesCount() async throws {
    let folder = try TemporaryFolder()
    let text = String(repeating: "x", count: 300)
    func limit(_ policy: inout ReplyLimits) { policy.principalBytesMax = 1_000 }
    try await withReplies(folder: folder, limit) { setting in
      for key in ["1", "2"] { _ = try await setting.call(text + key, key: key) }
      #expect(try setting.rows(of: "user/ada") == 2)
    }
    try await withReplies(folder: folder, limit) { setting in
      for key in ["3", "4"] { _ = try await setting.call(text + key, key: key) }
      #expect(try setting.rows(of: "user/ada") == 3)
      #expect(try await setting.call(text + "2", key: "2") == text + "2 1")
      #expect(setting.counting.count(text + "2") == 0)
      #expect(try await setting.call(text + "1", key: "1") == text + "1 1")
      #expect(setting.counting.count(text + "1") == 1)
    }
  }

  @Test("100,000 stored replies of one principal do not affect another principal's idempotency keys")
  func oneDoesNotUseAll() async throws {
    let folder = try TemporaryFolder()
    try await fill(folder, "user/greedy", count: 100_000)
    try await withReplies(folder: folder, isMaintained: true) { setting in
      try await eventually("the greedy principal has its share") { try setting.rows(of: "user/greedy") == 1_000 }
      #expect(try await setting.call("a", key: "mine-1") == "a 1")
      #expect(try await setting.call("a", key: "mine-1") == "a 1")
      let greedy = try setting.harness.client(token: try await setting.harness.key("user/greedy").secret)
      #expect(try await setting.call("g", key: "new", on: greedy) == "g 1")
      #expect(try setting.rows(of: "user/greedy") == 1_000)
      // The newest replies remain.
      let oldest = try setting.harness.store.readSingleBlocking { transaction in
        try transaction.queryOne(
          "SELECT request_id FROM store_idempotency WHERE principal = 'user/greedy' ORDER BY expires_at_ms LIMIT 1"
        ) { try $0.text(0) }
      }
      #expect(oldest == "old-99001")
    }
  }

  @Test("at the limits of the process, responses are not stored or new keys are refused")
  func theProcessHasALimit() async throws {
    try await withReplies({ $0.totalBytesMax = 200 }) { setting in
      let text = String(repeating: "x", count: 120)
      _ = try await setting.call(text, key: "1")
      _ = try await setting.call(text, key: "2")
      _ = await expectFailure(.aborted, "REPLY_NOT_KEPT") { try await setting.call(text, key: "2") }
    }
    try await withReplies({ $0.repliesMax = 2 }) { setting in
      let grace = try setting.harness.client(token: try await setting.harness.key("user/grace").secret)
      _ = try await setting.call("a", key: "1")
      _ = try await setting.call("b", key: "2", on: grace)
      let full = await expectFailure(.resourceExhausted, "REPLIES_EXHAUSTED") {
        try await setting.call("c", key: "3", on: grace)
      }
      #expect(full?.processed == false && full?.retryAfterMs != nil)
    }
  }

  @Test("members behind one key do not get one another's replies")
  func sessionsHaveSeparateReplies() async throws {
    try await withReplies { setting in
      let (ada, grace) = ("cas_" + String(repeating: "a", count: 43), "cas_" + String(repeating: "g", count: 43))
      let first = try await setting.call("feed", key: "1", session: ada)
      #expect(first == "feed 1")
      #expect(try await setting.call("feed", key: "1", session: grace) == "feed 2")
      #expect(try await setting.call("feed", key: "1") == "feed 3")
      #expect(try await setting.call("feed", key: "1", session: ada) == "feed 1")
      #expect(try await setting.call("feed", key: "1", session: grace) == "feed 2")
      // A different request with the same key, from the same member.
      _ = await expectFailure(.failedPrecondition, "IDEMPOTENCY_KEY_REUSED") {
        try await setting.call("other", key: "1", session: ada)
      }
      #expect(try setting.rows(of: "user/ada") == 3)
    }
  }

  @Test("a response with a secret is never stored, and its repeat is refused")
  func secretsAreNotStored() async throws {
    let folder = try TemporaryFolder()
    let secret = "cpk_a-secret-that-is-shown-once"
    try await withReplies(folder: folder) { setting in
      let told = try await setting.call(secret, key: "1", method: CountingService.secret)
      #expect(told == secret + " 1")
      _ = await expectFailure(.aborted, "REPLY_NOT_KEPT") {
        try await setting.call(secret, key: "1", method: CountingService.secret)
      }
      #expect(setting.counting.count(secret) == 1)
      #expect(try setting.rows(of: "user/ada") == 1)
      #expect(try Self.files(in: folder, containing: secret).isEmpty)
    }
    #expect(try Self.files(in: folder, containing: secret).isEmpty)
  }

  @Test("a repeat sent as soon as the response arrives does not get its secret")
  func immediateRepeatsOfSecretsAreRefused() async throws {
    try await withReplies { setting in
      for number in 0..<500 {
        _ = try await setting.call("secret", key: "\(number)", method: CountingService.secret)
        _ = await expectFailure(.aborted, "REPLY_NOT_KEPT") {
          try await setting.call("secret", key: "\(number)", method: CountingService.secret)
        }
      }
    }
  }

  @Test("secrets that an earlier version stored are removed")
  func formerSecretsAreRemoved() async throws {
    let folder = try TemporaryFolder()
    try await withReplies(folder: folder) { _ in }
    let store = try Store(TestStore.configuration(folder.file("gateway.sqlite")), migrations: Gateway.migrations)
    let key = IdempotencyKey(principal: "user/ada", method: CountingService.secret.path, requestID: "1")
    try await store.write { transaction in
      try transaction.storeReply([1] + Array("secret".utf8), key, requestHash: [0], expiresAtMs: .max)
    }
    await store.close()
    try await withReplies(folder: folder, isMaintained: true) { setting in
      try await eventually("the reply is replaced") {
        try await setting.harness.store.write { try $0.storedReply(key, requestHash: [0], nowMs: 0) }
          == StoredReply.secret
      }
    }
  }

  private static func files(in folder: TemporaryFolder, containing text: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { name in
      try Data(contentsOf: URL(fileURLWithPath: folder.file(name))).range(of: Data(text.utf8)) != nil
    }
  }
}
