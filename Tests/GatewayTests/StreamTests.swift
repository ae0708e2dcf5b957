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

  @Test func longMessagesWaitForABackendThatDoesNotRead() async throws {
    let rogue = try await RogueBackend { _, _ in .nothing }
    let harness = try await Harness(backends: [rogue.address])
    let echo = try await harness.echo()
    let sent = Counter()
    let payload = String(repeating: "x", count: 1_000_000)
    let call = Task {
      try await echo.collect { sink in
        for _ in 0..<100 {
          try await sink.send(CollectRequest(payload: payload))
          sent.add()
        }
      }
    }
    func receivedCount() -> Int { rogue.frames.count { $0.contains("rpc.message") } }
    try await eventually("the byte credit is overdrawn") { receivedCount() == 2 }
    try await Task.sleep(for: .milliseconds(100))
    // Neither the caller nor the gateway has any more credit, and no other call waits.
    #expect(sent.value == 2 && receivedCount() == 2)
    rogue.send(#"{"jsonrpc":"2.0","method":"rpc.credit","params":{"id":\#(id(rogue)),"messages":2,"bytes":2000000}}"#)
    try await eventually("the grant reaches the caller") { receivedCount() == 4 && sent.value == 4 }
    call.cancel()
    _ = await call.result
    await harness.stop()
    await rogue.kill()
  }

  /// Returns the id of the call whose messages a backend has received.
  private func id(_ rogue: RogueBackend) -> Int {
    let frame = rogue.frames.last { $0.contains("rpc.message") } ?? ""
    return frame.firstRange(of: "\"id\":").flatMap { Int(frame[$0.upperBound...].prefix { $0.isNumber }) } ?? -1
  }

  @Test func longResponsesWaitForACallerThatDoesNotRead() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let echo = try await harness.echo()
    let payload = String(repeating: "x", count: 900_000)
    let stream = echo.expand(ExpandRequest(payload: payload, count: 20))
    try await Task.sleep(for: .milliseconds(300))
    var count: Int32 = 0
    for try await response in stream {
      #expect(response.index == count && response.payload.utf8.count == 900_000)
      count += 1
    }
    #expect(count == 20)
    await harness.stop()
    await backend.server.shutdown()
  }

  /// The caller's frames are longer than the backend's, so its credit is used up first.
  @Test func responsesWaitForACallerWithLongerFrames() async throws {
    let frameBytes = 33_792
    let rogue = try await RogueBackend { id, _ in
      let start = #"{"jsonrpc":"2.0","method":"rpc.message","params":{"id":\#(id),"message":{"payload":""#
      let frame = start + String(repeating: "x", count: frameBytes - start.utf8.count - 4) + "\"}}}"
      // The last one is within the backend's credit, and beyond the caller's.
      let result = #"{"jsonrpc":"2.0","id":\#(id),"result":{}}"#
      return RogueBackend.Reply(frames: Array(repeating: frame, count: 32) + [result])
    }
    let harness = try await Harness(backends: [rogue.address])
    let name = String(repeating: "i", count: 64)
    let (channel, received) = try await RawSocket.open(
      port: harness.port, token: try await harness.key().secret,
      #"{"jsonrpc":"2.0","id":"\#(name)","method":"campanile.rpc.v1.EchoService/Expand","params":{"count":32}}"#)
    func messageCount() -> Int { received.all.count { $0.contains("rpc.message") } }
    try await eventually("the caller's credit is used up") { messageCount() == 31 }
    try await Task.sleep(for: .milliseconds(100))
    #expect(messageCount() == 31 && received.all.last?.contains("rpc.message") == true)
    try await channel.writeAndFlush(
      RawSocket.bytes(#"{"jsonrpc":"2.0","method":"rpc.credit","params":{"id":"\#(name)","bytes":100000}}"#))
    try await eventually("the end arrives") { received.all.last?.contains("\"result\"") == true }
    #expect(messageCount() == 32)
    try await channel.close()
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
