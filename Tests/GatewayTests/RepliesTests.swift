import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import Synchronization
import TestSupport
import Testing

@testable import Gateway

/// Stored replies, which are returned to repeated requests.
@Suite struct RepliesTests {
  // MARK: without connections

  @Test func repeatsWaitForTheFirstCall() {
    var policy = ReplyLimits()
    policy.pendingMax = 5
    policy.waitersMax = 2
    var pending = PendingReplies<Int>(policy)
    func arrive(_ name: String, _ hash: UInt8, _ waiter: Int) -> PendingReplies<Int>.Arrival {
      pending.arrive(.init(name: name, principal: "user/ada", requestHash: [hash], sizeBytes: 10, waiter: waiter))
    }
    let arrivals = [
      arrive("a", 1, 0), arrive("a", 1, 1), arrive("a", 2, 2), arrive("a", 1, 3), arrive("a", 1, 4), arrive("b", 1, 5),
      arrive("d", 1, 6), arrive("c", 1, 7),
    ]
    #expect(arrivals == [.leads, .waits, .differs, .waits, .tooManyWaiters, .leads, .leads, .tooMany])
    let promoted = pending.promote("a")
    #expect(promoted == 1)
    let waiters = pending.finish("a")
    #expect(waiters == [3])
    let nobody = pending.promote("b")
    #expect(nobody == nil && pending.count == 1)
    #expect(pending.usage.total == .init(count: 1, sizeBytes: 10))
    _ = pending.finish("d")
    #expect(arrive("a", 2, 7) == .leads)
    #expect(pending.usage["user/ada"] == .init(count: 1, sizeBytes: 10))
  }

  @Test("a principal uses its share of pending calls, not that of others")
  func principalsHaveShares() {
    var policy = ReplyLimits()
    (policy.principalPendingMax, policy.principalPendingBytesMax, policy.pendingBytesMax) = (2, 100, 160)
    var pending = PendingReplies<Int>(policy)
    func arrive(_ name: String, _ principal: String, _ sizeBytes: Int) -> PendingReplies<Int>.Arrival {
      pending.arrive(.init(name: name, principal: principal, requestHash: [], sizeBytes: sizeBytes, waiter: 0))
    }
    #expect(arrive("a", "user/ada", 1) == .leads)
    #expect(arrive("b", "user/ada", 100) == .tooMany)
    // A repeat counts as a pending call, too.
    #expect(arrive("a", "user/ada", 1) == .waits)
    #expect(arrive("c", "user/ada", 1) == .tooMany)
    #expect(arrive("d", "user/grace", 100) == .leads)
    #expect(arrive("e", "user/linus", 59) == .tooMany)
    #expect(arrive("e", "user/linus", 58) == .leads)
    for name in ["a", "d", "e"] { _ = pending.finish(name) }
    #expect(pending.usage.total == .init() && pending.usage["user/ada"] == .init())
  }

  @Test func storedRepliesDecodeToWhatWasStored() throws {
    #expect(try StoredReply.decode(StoredReply.encode([], sizeBytesMax: 0)).get() == [])
    #expect(try StoredReply.decode(StoredReply.encode([1, 2], sizeBytesMax: 2)).get() == [1, 2])
    #expect(throws: ReplyFault.notStored) {
      try StoredReply.decode(StoredReply.encode([1, 2, 3], sizeBytesMax: 2)).get()
    }
    #expect(throws: ReplyFault.notStored) { try StoredReply.decode([]).get() }
    #expect(StoredReply.encode([1, 2], sizeBytesMax: 2, isSecret: true) == StoredReply.secret)
    #expect(throws: ReplyFault.secretNotStored) { try StoredReply.decode(StoredReply.secret).get() }
  }

  @Test func keysBecomeRequestIDs() throws {
    let id = try DerivedRequestID.text(for: "k-1")
    #expect(id.utf8.count == 64)
    for (params, found) in [
      ("", #"{"requestId":"\#(id)"}"#),
      ("{ }", #"{"requestId":"\#(id)"}"#),
      (#"{"a":[{"requestId":"x"}],"b":null}"#, #"{"requestId":"\#(id)","a":[{"requestId":"x"}],"b":null}"#),
      // The caller's own id, and texts that only the service can refuse.
      (#"{"a":1,"requestId":""}"#, nil), (#"{"request_id":"x"}"#, nil), (#"{"request\u0049d":"x"}"#, nil),
      ("[]", nil), ("null", nil), ("{", nil), (#"{"a":}"#, nil),
    ] {
      let added = DerivedRequestID.adding(id, to: Array(params.utf8))
      #expect(String(decoding: added, as: UTF8.self) == found ?? params)
    }
  }

  @Test func idempotencyKeysAreValidated() throws {
    #expect(try IdempotencyHeader.key(in: [:]) == nil)
    #expect(try IdempotencyHeader.key(in: ["idempotency-key": "k-1"]) == "k-1")
    for bad in ["", " ", "a b", "é", String(repeating: "a", count: 129)] {
      #expect(throws: RPCError.self) { try IdempotencyHeader.key(in: ["idempotency-key": bad]) }
    }
    var twice: Metadata = ["idempotency-key": "a"]
    twice.add("a", for: "idempotency-key")
    #expect(throws: RPCError.self) { try IdempotencyHeader.key(in: twice) }
  }

  // MARK: through a gateway

  @Test func repeatedRequestGetsTheFirstReply() async throws {
    let folder = try TemporaryFolder()
    try await withReplies(folder: folder) { setting in
      #expect(try await setting.call("a", key: "k") == "a 1")
      #expect(try await setting.call("a", key: "k") == "a 1")
      #expect(try await setting.call("a", key: "other") == "a 2")
      #expect(try await setting.call("a", key: nil) == "a 3")
      let reused = await expectFailure(.failedPrecondition, "IDEMPOTENCY_KEY_REUSED") {
        try await setting.call("b", key: "k")
      }
      #expect(reused?.processed == false)
      // An idempotency key belongs to its principal.
      let grace = try setting.harness.client(token: try await setting.harness.key("user/grace").secret)
      #expect(try await setting.call("b", key: "k", on: grace) == "b 1")
      _ = await expectFailure(.invalidArgument, "IDEMPOTENCY_KEY_INVALID") { try await setting.call("a", key: "a b") }
    }
    // The reply survives a restart.
    try await withReplies(folder: folder) { setting in
      let answer = try await setting.call("a", key: "k")
      #expect(answer == "a 1" && setting.counting.count("a") == 0)
    }
  }

  @Test func concurrentRepeatsAreOneCall() async throws {
    try await withReplies { setting in
      let answers = try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<8 { group.addTask { try await setting.call("a", key: "k", delayMs: 100) } }
        return try await group.reduce(into: [String]()) { $0.append($1) }
      }
      #expect(answers == Array(repeating: "a 1", count: 8))
      #expect(setting.counting.count("a") == 1)
    }
  }

  @Test func failuresAreNotStored() async throws {
    try await withReplies { setting in
      for _ in 0..<2 {
        _ = await expectFailure(.notFound, "NOTHING") { try await setting.call("broken", key: "k") }
      }
      let answer = try await setting.call("whole", key: "k")
      #expect(answer == "whole 1")
    }
  }

  @Test func cancelledCallContinuesForItsRepeat() async throws {
    try await withReplies { setting in
      let first = Task { try await setting.call("a", key: "k", delayMs: 300) }
      try await eventually("the call is executed") { setting.counting.count("a") == 1 }
      first.cancel()
      #expect(try await setting.call("a", key: "k", delayMs: 300) == "a 1")
      #expect(setting.counting.count("a") == 1)
    }
  }

  @Test func longRepliesAndTooManyKeysAreNotStored() async throws {
    try await withReplies({ $0.replyBytesMax = 40 }) { setting in
      let long = String(repeating: "x", count: 64)
      let answer = try await setting.call(long, key: "k")
      #expect(answer == long + " 1")
      _ = await expectFailure(.aborted, "REPLY_NOT_KEPT") { try await setting.call(long, key: "k") }
    }
    try await withReplies({ $0.repliesMax = 1 }) { setting in
      let first = try await setting.call("a", key: "k")
      #expect(first == "a 1")
      let full = await expectFailure(.resourceExhausted, "REPLIES_EXHAUSTED") { try await setting.call("a", key: "l") }
      #expect(full?.processed == false && full?.retryAfterMs != nil)
      #expect(try await setting.call("a", key: "k") == "a 1")
    }
  }
}
