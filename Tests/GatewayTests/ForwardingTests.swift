import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import Gateway

@Suite struct ForwardingTests {
  @Test func allFourKindsOfCallsAreForwarded() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let echo = try await harness.echo()

    #expect(try await echo.echo(EchoRequest("café \u{1F514} \"quoted\"\n")).payload == "café \u{1F514} \"quoted\"\n")

    let expand = ExpandRequest(payload: "x", count: 500)
    var indices: [Int32] = []
    for try await response in echo.expand(expand) { indices.append(response.index) }
    #expect(indices == Array(0..<500))

    let collected = try await echo.collect { sink in
      for _ in 0..<500 {
        try await sink.send(CollectRequest(payload: "four"))
      }
    }
    #expect(collected.messageCount == 500)
    #expect(collected.payloadSizeBytes == 2000)

    var answers: [String] = []
    let chat = echo.chat { sink in
      for index in 0..<300 {
        try await sink.send(ChatRequest(payload: "m\(index)"))
      }
    }
    for try await response in chat { answers.append(response.payload) }
    #expect(answers == (0..<300).map { "m\($0)" })
    try await eventually("every call is counted") { harness.recorder.all.count == 5 }
    #expect(Set(harness.recorder.all.map(\.method)) == ["CreateApiKey", "Echo", "Expand", "Collect", "Chat"])
    #expect(harness.recorder.all.allSatisfy { $0.code == "OK" })
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func errorsAreForwardedUnchanged() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let secret = try await harness.key().secret
    let direct = try RPCClient(
      ClientConfiguration(host: "127.0.0.1", port: backend.address.port, token: internalToken))
    let through = try harness.client(token: secret)
    for (method, params) in [
      ("Fail", #"{"code":5,"message":"no \u00e9 \"there\"","key":"k"}"#), ("Fail", #"{"code":99}"#),
      ("Echo", #"{"payload":1}"#), ("Echo", #"{"delayMs":"x"}"#), ("Nothing", "{}"),
    ] {
      let path = "campanile.rpc.v1.EchoService/\(method)"
      let expected = try await RawProbe.call(direct, path, params)
      let found = try await RawProbe.call(through, path, params)
      // Only the count of executions differs.
      #expect(
        found.rawError?.replacing("\"executionCount\":\"2\"", with: "\"executionCount\":\"1\"") == expected.rawError)
      #expect(found.rawError != nil)
    }
    await direct.close()
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func backendReceivesThePrincipalAndNothingForged() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let key = try await harness.key("user/grace", scopes: ["echo:read", "notifications"])
    let echo = EchoServiceClient(try harness.client())
    var options = CallOptions()
    options.metadata = [
      "authorization": "Bearer \(key.secret)", "traceparent": "00-abc", "campanile-principal": "user/root",
      "campanile-scopes": "admin", "campanile-request-id": "forged", "campanile-other": "x", "x-list": "a",
    ]
    options.metadata.add("b", for: "x-list")
    _ = try await echo.echo(EchoRequest("a"), options: options)
    _ = try await echo.echo(EchoRequest("b"), options: options)
    let contexts = backend.seen.all
    try #require(contexts.count == 2)
    for context in contexts {
      #expect(context.principal?.name == "user/grace")
      #expect(context.principal?.scopes == ["echo:read", "notifications"])
      #expect(context.metadata["traceparent"] == "00-abc")
      #expect(context.metadata.values("x-list") == ["a", "b"])
      #expect(context.metadata["authorization"] == nil)
      #expect(context.metadata["campanile-other"] == nil)
      #expect(context.metadata.values("campanile-principal") == ["user/grace"])
    }
    let ids = contexts.compactMap { $0.metadata["campanile-request-id"] }
    #expect(ids.count == 2 && Set(ids).count == 2 && !ids.contains("forged"))
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func metadataThatLeavesNoRoomIsRefused() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let echo = try await harness.echo()
    var options = CallOptions()
    options.metadata = ["x": String(repeating: "a", count: Metadata.sizeBytesMax - 1)]
    let error = await expectFailure(.invalidArgument, "METADATA_TOO_LARGE") {
      try await echo.echo(EchoRequest("a"), options: options)
    }
    #expect(error?.processed == false)
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func forwardedDeadlineIsTheRemainingTime() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let echo = try await harness.echo()
    _ = try await echo.echo(EchoRequest("a"), options: CallOptions(timeoutMs: 5_000))
    let remaining = try #require(backend.seen.last?.deadline?.remainingMs())
    #expect(remaining <= 5_000)
    // A stream without a deadline has none at the backend either.
    for try await _ in echo.expand(ExpandRequest()) {}
    #expect(backend.seen.last?.deadline == nil)
    // Long enough for the call to leave a busy machine before the deadline.
    let error = await expectFailure(.deadlineExceeded, "DEADLINE_EXCEEDED") {
      try await echo.echo(EchoRequest("slow", delayMs: 60_000), options: CallOptions(timeoutMs: 1_000))
    }
    #expect(error?.processed == true)
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func unaryCallsWithoutADeadlineGetTheDefault() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address]) { $0.timeoutMsDefault = 12_345 }
    let through = try harness.client(token: try await harness.key().secret)
    _ = try await RawProbe.call(through, "campanile.rpc.v1.EchoService/Echo", "{}", timeoutMs: nil)
    let remaining = try #require(backend.seen.last?.deadline?.remainingMs())
    #expect((1...12_345).contains(remaining))
    await harness.stop()
    await backend.server.shutdown()
  }
}

/// A unary call that keeps the raw bytes of its response.
final class RawProbe: ClientCallHandler {
  struct Outcome: Sendable {
    var result: String?
    var error: RPCError?
    var rawError: String?
  }
  private let continuation: CheckedContinuation<Outcome, Never>
  private init(_ continuation: CheckedContinuation<Outcome, Never>) { self.continuation = continuation }

  static func call(_ client: RPCClient, _ method: String, _ params: String, timeoutMs: Int64? = 5_000) async throws
    -> Outcome
  {
    let loop = sharedLoop
    return await withCheckedContinuation { continuation in
      loop.execute {
        let head = CallHead(
          method: method, kind: .unary, deadline: timeoutMs.map { .after(timeoutMs: $0) })
        Array(params.utf8).withUnsafeBytes {
          _ = client.startCall(head, params: $0, on: loop, handler: RawProbe(continuation))
        }
      }
    }
  }

  func callReceived(message: UnsafeRawBufferPointer, sizeBytes: Int) {}
  func callFinished(result: UnsafeRawBufferPointer) {
    continuation.resume(returning: Outcome(result: String(decoding: result, as: UTF8.self)))
  }
  func callFailed(error: RPCError, rawError: UnsafeRawBufferPointer?) {
    continuation.resume(
      returning: Outcome(error: error, rawError: rawError.map { String(decoding: $0, as: UTF8.self) }))
  }
  func callCredit(_ credit: StreamCredit) {}
}
