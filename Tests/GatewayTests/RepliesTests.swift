import CampanileAPI
import CampanileCodec
import CampanileRPC
import Synchronization
import Testing

@testable import Gateway

/// Answers that are kept for those who ask again.
@Suite struct RepliesTests {
  // MARK: without connections

  @Test func repeatsWaitForTheFirst() {
    var policy = ReplyPolicy()
    policy.pendingMax = 2
    policy.waitersMax = 2
    var pending = PendingReplies<Int>(policy)
    let arrivals = [
      pending.arrive("a", requestHash: [1], waiter: 0), pending.arrive("a", requestHash: [1], waiter: 1),
      pending.arrive("a", requestHash: [2], waiter: 2), pending.arrive("a", requestHash: [1], waiter: 3),
      pending.arrive("a", requestHash: [1], waiter: 4), pending.arrive("b", requestHash: [1], waiter: 5),
      pending.arrive("c", requestHash: [1], waiter: 6),
    ]
    #expect(arrivals == [.leads, .waits, .differs, .waits, .tooManyWaiters, .leads, .tooMany])
    let promoted = pending.promote("a")
    #expect(promoted == 1)
    let waiters = pending.finish("a")
    #expect(waiters == [3])
    let nobody = pending.promote("b")
    #expect(nobody == nil && pending.count == 0)
    let again = pending.arrive("a", requestHash: [2], waiter: 7)
    #expect(again == .leads)
  }

  @Test func keptAnswersSayWhatTheyAre() throws {
    #expect(try KeptReply.decode(KeptReply.encode([], sizeBytesMax: 0)).get() == [])
    #expect(try KeptReply.decode(KeptReply.encode([1, 2], sizeBytesMax: 2)).get() == [1, 2])
    #expect(throws: ReplyFault.notKept) { try KeptReply.decode(KeptReply.encode([1, 2, 3], sizeBytesMax: 2)).get() }
    #expect(throws: ReplyFault.notKept) { try KeptReply.decode([]).get() }
  }

  @Test func keysAreChecked() throws {
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

  /// A service that counts how often each payload was carried out, as the table's method `Echo`, which may change something here.
  private final class Counting: RPCService {
    let counts = Mutex<[String: Int]>([:])
    func register(in registry: inout MethodRegistry) {
      registry.unary(Self.method) { (request: EchoRequest, _: CallContext) -> EchoResponse in
        if request.payload == "broken" { throw RPCError(.notFound, "there is nothing", reason: "NOTHING") }
        let count = self.counts.withLock { counts in
          counts[request.payload, default: 0] += 1
          return counts[request.payload] ?? 0
        }
        if request.delayMs > 0 { try await Task.sleep(for: .milliseconds(Int(request.delayMs))) }
        var response = EchoResponse()
        response.payload = "\(request.payload) \(count)"
        return response
      }
    }
    static let method = MethodDescriptor(
      path: "campanile.rpc.v1.EchoService/Count", kind: .unary, idempotency: .unknown,
      requestType: EchoRequest.protoFullName, responseType: EchoResponse.protoFullName, scope: "echo:write")
    func count(_ payload: String) -> Int { counts.withLock { $0[payload] ?? 0 } }
  }

  private struct Setting {
    let harness: Harness
    let counting: Counting
    let client: RPCClient
    func call(_ payload: String, key: String?, delayMs: Int32 = 0, timeoutMs: Int64 = 5_000, on other: RPCClient? = nil)
      async throws -> String
    {
      var options = CallOptions(timeoutMs: timeoutMs)
      if let key { options.metadata.add(key, for: "idempotency-key") }
      let response: EchoResponse = try await (other ?? client).unary(
        Counting.method, EchoRequest(payload, delayMs: delayMs), options: options)
      return response.payload
    }
  }

  private func withGateway(
    folder: TemporaryFolder? = nil, _ configure: (inout ReplyPolicy) -> Void = { _ in },
    _ body: (Setting) async throws -> Void
  ) async throws {
    let counting = Counting()
    let backend = try await Backend(extra: [counting])
    let harness = try await Harness(backends: [backend.address], folder: folder) { configuration in
      configuration.methods.append(Counting.method)
      configure(&configuration.replies)
    }
    let client = try harness.client(token: try await harness.key().secret)
    do { try await body(Setting(harness: harness, counting: counting, client: client)) } catch { Issue.record(error) }
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func aRepeatGetsTheFirstAnswer() async throws {
    let folder = try TemporaryFolder()
    try await withGateway(folder: folder) { setting in
      #expect(try await setting.call("a", key: "k") == "a 1")
      #expect(try await setting.call("a", key: "k") == "a 1")
      #expect(try await setting.call("a", key: "other") == "a 2")
      #expect(try await setting.call("a", key: nil) == "a 3")
      let reused = await expectFailure(.failedPrecondition, "IDEMPOTENCY_KEY_REUSED") {
        try await setting.call("b", key: "k")
      }
      #expect(reused?.processed == false)
      // The key is that of this principal alone.
      let grace = try setting.harness.client(token: try await setting.harness.key("user/grace").secret)
      #expect(try await setting.call("b", key: "k", on: grace) == "b 1")
      _ = await expectFailure(.invalidArgument, "IDEMPOTENCY_KEY_INVALID") { try await setting.call("a", key: "a b") }
    }
    // It is there after a restart, too.
    try await withGateway(folder: folder) { setting in
      let answer = try await setting.call("a", key: "k")
      #expect(answer == "a 1" && setting.counting.count("a") == 0)
    }
  }

  @Test func repeatsAtTheSameTimeAreOneCall() async throws {
    try await withGateway { setting in
      let answers = try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<8 { group.addTask { try await setting.call("a", key: "k", delayMs: 100) } }
        return try await group.reduce(into: [String]()) { $0.append($1) }
      }
      #expect(answers == Array(repeating: "a 1", count: 8))
      #expect(setting.counting.count("a") == 1)
    }
  }

  @Test func failuresAreNotKept() async throws {
    try await withGateway { setting in
      for _ in 0..<2 {
        _ = await expectFailure(.notFound, "NOTHING") { try await setting.call("broken", key: "k") }
      }
      let answer = try await setting.call("whole", key: "k")
      #expect(answer == "whole 1")
    }
  }

  @Test func aCallGoesOnForWhoComesBackForItsAnswer() async throws {
    try await withGateway { setting in
      let first = Task { try await setting.call("a", key: "k", delayMs: 300) }
      try await eventually("it is carried out") { setting.counting.count("a") == 1 }
      first.cancel()
      #expect(try await setting.call("a", key: "k", delayMs: 300) == "a 1")
      #expect(setting.counting.count("a") == 1)
    }
  }

  @Test func longAnswersAndManyKeysAreNotKept() async throws {
    try await withGateway({ $0.replyBytesMax = 40 }) { setting in
      let long = String(repeating: "x", count: 64)
      let answer = try await setting.call(long, key: "k")
      #expect(answer == long + " 1")
      _ = await expectFailure(.aborted, "REPLY_NOT_KEPT") { try await setting.call(long, key: "k") }
    }
    try await withGateway({ $0.repliesMax = 1 }) { setting in
      let first = try await setting.call("a", key: "k")
      #expect(first == "a 1")
      let full = await expectFailure(.resourceExhausted, "REPLIES_EXHAUSTED") { try await setting.call("a", key: "l") }
      #expect(full?.processed == false && full?.retryAfterMs != nil)
      #expect(try await setting.call("a", key: "k") == "a 1")
    }
  }
}
