import CampanileAPI
import CampanileRPC
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import Gateway

/// End-to-end back-pressure.
@Suite struct StreamTests {
  @Test func callerThatDoesNotReadStopsTheBackend() async throws {
    let sent = Counter()
    let backend = try await Backend(extra: [EndlessSource(sent: sent)])
    let harness = try await Harness(backends: [backend.address]) { configuration in
      configuration.backends.append(
        BackendConfiguration(name: "source", servicePrefix: "test.Source", addresses: [backend.address]))
      configuration.methods.append(EndlessSource.method)
    }
    let client = try harness.client(token: try await harness.key().secret)
    let stream: ResponseStream<ExpandResponse> = client.serverStreaming(
      EndlessSource.method, ExpandRequest(), options: CallOptions())
    var iterator = stream.makeAsyncIterator()
    _ = try await iterator.next()
    try await eventually("the granted messages are sent") { sent.value >= 32 }
    try await Task.sleep(for: .milliseconds(100))
    // The caller's initial credit of 32, and the credit for the few messages that it read.
    #expect(sent.value <= 64)
    for _ in 0..<1000 { _ = try await iterator.next() }
    #expect(sent.value <= 1001 + 64)
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func backendThatDoesNotReadStopsTheCaller() async throws {
    let rogue = try await RogueBackend { _, _ in .nothing }
    let harness = try await Harness(backends: [rogue.address])
    let echo = try await harness.echo()
    let sent = Counter()
    let call = Task {
      try await echo.collect { sink in
        for _ in 0..<1000 {
          try await sink.send(CollectRequest())
          sent.add()
        }
      }
    }
    try await eventually("the initial credit is used") {
      rogue.frames.count { $0.contains("rpc.message") } == 32
    }
    try await Task.sleep(for: .milliseconds(100))
    #expect(sent.value == 32)
    call.cancel()
    _ = await call.result
    await harness.stop()
    await rogue.kill()
  }

  @Test func aStreamInABatchIsRefused() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let answer = try await RawSocket.exchange(
      port: harness.port, token: try await harness.key().secret,
      #"[{"jsonrpc":"2.0","id":1,"method":"campanile.rpc.v1.EchoService/Expand","params":{"count":3}},"#
        + #"{"jsonrpc":"2.0","id":2,"method":"campanile.rpc.v1.EchoService/Echo","params":{"payload":"b"}}]"#)
    #expect(answer.contains("STREAM_NOT_ALLOWED"))
    #expect(answer.contains(#"{"jsonrpc":"2.0","id":2,"result":{"payload":"b"}}"#))
    #expect(backend.seen.all.map(\.method) == [EchoServiceMethods.echo])
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test(arguments: ["Expand", "Collect", "Chat"])
  func streamsInABatchAndCallsWithoutAnIDAreNotForwarded(method: String) async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let request = #""jsonrpc":"2.0","method":"campanile.rpc.v1.EchoService/\#(method)""#
    let token = try await harness.key().secret
    let batched = try await RawSocket.exchange(port: harness.port, token: token, #"[{"id":1,\#(request)}]"#)
    #expect(batched.hasPrefix("[") && batched.contains("STREAM_NOT_ALLOWED") && batched.contains(#""processed":false"#))
    let requestWithoutID = try await RawSocket.exchange(port: harness.port, token: token, "{\(request)}")
    #expect(requestWithoutID.contains(#""id":null"#) && requestWithoutID.contains("ID_MISSING"))
    let unary = #"{"jsonrpc":"2.0","method":"campanile.rpc.v1.EchoService/Echo"}"#
    let unaryWithoutID = try await RawSocket.exchange(port: harness.port, token: token, unary)
    #expect(unaryWithoutID.contains(#""id":null"#) && unaryWithoutID.contains("ID_MISSING"))
    #expect(backend.seen.all.isEmpty)
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func undescribedStreamInABatchIsRefusedAtItsFirstMessage() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address]) { $0.methods = [] }
    let answer = try await RawSocket.exchange(
      port: harness.port, token: try await harness.key().secret,
      #"[{"jsonrpc":"2.0","id":1,"method":"campanile.rpc.v1.EchoService/Expand","params":{"count":3}},"#
        + #"{"jsonrpc":"2.0","id":2,"method":"campanile.rpc.v1.EchoService/Echo","params":{"payload":"b"}}]"#)
    #expect(answer.contains("STREAM_NOT_ALLOWED") && answer.contains(#""processed":true"#))
    #expect(answer.contains(#"{"jsonrpc":"2.0","id":2,"result":{"payload":"b"}}"#))
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func messagesForAUnaryCallEndIt() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let answer = try await RawSocket.exchange(
      port: harness.port, token: try await harness.key().secret,
      #"{"jsonrpc":"2.0","id":1,"method":"campanile.rpc.v1.EchoService/Echo","params":{"delayMs":60000}}"#,
      #"{"jsonrpc":"2.0","method":"rpc.message","params":{"id":1,"message":{}}}"#)
    #expect(answer.contains("STREAM_UNEXPECTED"))
    await harness.stop()
    await backend.server.shutdown()
  }
}

final class Counter: Sendable {
  private let count = Mutex(0)
  func add() { count.withLock { $0 += 1 } }
  var value: Int { count.withLock { $0 } }
}

/// A service that sends messages as fast as the credit permits, and counts them.
struct EndlessSource: RPCService {
  static let method = MethodDescriptor(
    path: "test.Source/Stream", kind: .serverStreaming, idempotency: .noSideEffects, requestType: "", responseType: "")
  let sent: Counter

  func register(in registry: inout MethodRegistry) {
    registry.serverStreaming(Self.method) { (_: ExpandRequest, _, sink: ResponseSink<ExpandResponse>) in
      while true {
        try await sink.send(ExpandResponse())
        sent.add()
      }
    }
  }
}
