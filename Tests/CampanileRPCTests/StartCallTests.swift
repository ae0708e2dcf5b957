import CampanileBase
import NIOCore
import NIOPosix
import Testing

@testable import CampanileRPC

/// `RPCClient.startCall`, the client's interface without tasks, which the gateway uses.
@Suite(.timeLimit(.minutes(1))) struct StartCallTests {
  /// Records the handler's events in a log.
  private final class Recorder: ClientCallHandler {
    private let heard: ClientLog<String>
    init(_ heard: ClientLog<String>) { self.heard = heard }

    private func text(_ bytes: UnsafeRawBufferPointer) -> String { String(decoding: bytes, as: UTF8.self) }
    func callReceived(message: UnsafeRawBufferPointer, sizeBytes: Int) { heard.add("message \(text(message))") }
    func callFinished(result: UnsafeRawBufferPointer) { heard.add("finished \(text(result))") }
    func callFailed(error: RPCError, rawError: UnsafeRawBufferPointer?) {
      let origin = rawError.map { text($0).hasPrefix("{\"code\":") ? "from the server" : "malformed" } ?? "from here"
      heard.add("failed \(error.code) \(error.reason) \(error.processed) \(origin)")
    }
    func callCredit(_ credit: StreamCredit) { heard.add("credit \(credit.messages) \(credit.bytes)") }
  }

  /// A call that a test controls from outside of its loop.
  private struct Started: Sendable {
    let loop: any EventLoop
    let call: NIOLoopBoundBox<ClientCall?>
    let heard = ClientLog<String>()

    init(
      _ client: RPCClient, on loop: any EventLoop, _ kind: CallKind, params: String = "", rawMetadata: String = "",
      timeoutMs: Int64? = nil, waitForReady: Bool = true,
      then: @escaping @Sendable (ClientCall) -> Void = { _ in }
    ) async throws {
      self.loop = loop
      let call = NIOLoopBoundBox<ClientCall?>.makeBoxSendingValue(nil, eventLoop: loop)
      self.call = call
      let heard = heard
      try await loop.submit {
        let head = CallHead(
          method: "test.Notes/Call", kind: kind, deadline: timeoutMs.map { .after(timeoutMs: $0) },
          metadata: ["a": "1"],
          waitForReady: waitForReady)
        let started = Array(params.utf8).withUnsafeBytes { params in
          Array(rawMetadata.utf8).withUnsafeBytes {
            client.startCall(head, params: params, rawMetadata: $0, on: loop, handler: Recorder(heard))
          }
        }
        call.value = started
        then(started)
      }.get()
    }

    func on<R: Sendable>(_ body: @escaping @Sendable (ClientCall) -> R) async throws -> R? {
      try await loop.submit { call.value.map(body) }.get()
    }
  }

  private static func send(_ call: ClientCall, _ message: String) -> Bool {
    Array(message.utf8).withUnsafeBytes { call.send(message: $0) }
  }

  /// Runs a test against a scripted server, with a client on one loop.
  private func withLoop(
    _ script: @escaping ClientFakeServer.Script, helloMembers: String = "",
    configure: (inout ClientConfiguration) -> Void = { _ in },
    _ body: (RPCClient, any EventLoop, ClientFakeServer) async throws -> Void
  ) async throws {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let server = try await ClientFakeServer(helloMembers: helloMembers, script)
    var configuration = ClientConfiguration(host: "127.0.0.1", port: server.port)
    configure(&configuration)
    let client = try RPCClient(configuration, group: loop)
    let result: Result<Void, any Error>
    do { result = .success(try await body(client, loop, server)) } catch { result = .failure(error) }
    await client.close()
    await server.stop()
    try result.get()
  }

  @Test func unaryCallTransfersBytes() async throws {
    let frames = ClientLog<String>()
    try await withLoop { peer, frame, id in
      frames.add(frame)
      peer.result(id, #"{"x" : [1,2]}"#)
    } _: { client, loop, _ in
      let call = try await Started(
        client, on: loop, .unary, params: #"{"y":"é"}"#, rawMetadata: #""b":["2","3"]"#, timeoutMs: 60_000)
      try await call.heard.wait(for: 1)
      #expect(call.heard.all == [#"finished {"x" : [1,2]}"#])
      let frame = try #require(frames.all.first)
      #expect(frame.contains(#""method":"test.Notes/Call""#) && frame.contains(#""params":{"y":"é"}"#))
      #expect(frame.contains(#""metadata":{"a":"1","b":["2","3"]}"#))
      #expect(frame.contains(#""timeoutMs":59"#) || frame.contains(#""timeoutMs":60000"#))
      // Operations on a call that has ended have no effect.
      let isOpen = try await call.on { call in
        call.cancel()
        call.halfClose()
        call.grantCredit(StreamCredit(messages: 16, bytes: 1))
        return call.isOpen || call.sendCredit != .zero || Self.send(call, "{}")
      }
      #expect(isOpen == false)
      _ = try await Started(client, on: loop, .unary).heard.wait(for: 1)
      #expect(frames.all.count == 2 && call.heard.all.count == 1)
    }
  }

  @Test func errorIsForwardedUnchanged() async throws {
    try await withLoop { peer, _, id in
      peer.error(id, status: "NOT_FOUND", code: 5, processed: true)
    } _: { client, loop, _ in
      let call = try await Started(client, on: loop, .unary)
      try await call.heard.wait(for: 1)
      #expect(call.heard.all.first?.hasPrefix("failed NOT_FOUND") == true)
      #expect(call.heard.all.first?.hasSuffix("true from the server") == true)
    }
  }

  @Test func requestsRequireCreditAndEndWithHalfClose() async throws {
    let frames = ClientLog<String>()
    try await withLoop { peer, frame, id in
      frames.add(frame)
      if frames.all.count == 33 {
        peer.send(#"{"jsonrpc":"2.0","method":"rpc.credit","params":{"id":1,"messages":5}}"#)
      } else if frame.contains("rpc.end") {
        peer.result(1)
      }
    } _: { client, loop, _ in
      let call = try await Started(client, on: loop, .clientStreaming)
      try await frames.wait(for: 1)
      let sent = try await call.on { call in (0..<40).map { Self.send(call, "{\"n\":\($0)}") } }
      #expect(sent == Array(repeating: true, count: 32) + Array(repeating: false, count: 8))
      try await call.heard.wait(for: 1)
      #expect(call.heard.all == ["credit 5 0"])
      let rest = try await call.on { call in
        let before = (call.sendCredit, Self.send(call, #"{"n":32}"#))
        call.halfClose()
        call.halfClose()
        return before.0.messages == 5 && before.1 && !Self.send(call, "{}")
      }
      #expect(rest == true)
      try await call.heard.wait(for: 2)
      #expect(call.heard.all[1] == "finished {}")
      // The request, 33 messages and one rpc.end.
      #expect(frames.all.count == 35)
      for n in 0..<33 { #expect(frames.all[n + 1].contains("{\"n\":\(n)}")) }
    }
  }

  @Test(arguments: [30_000, 64 << 20])
  func messagesQueuedBeforeConnectionAreSentInOrder(bufferedBytesMax: Int) async throws {
    let frames = ClientLog<String>()
    let text = String(repeating: "x", count: 950)
    // Their frames are longer than the connection's buffer, or than its credit.
    let script: ClientFakeServer.Script = { peer, frame, _ in
      if frame.contains("rpc.message") { frames.add(frame) }
      if frames.all.count == 21, !frame.contains("rpc.end") {
        peer.send(#"{"jsonrpc":"2.0","method":"rpc.credit","params":{"bytes":1000000}}"#)
      }
      if frame.contains("rpc.end") { peer.result(1) }
    }
    let connectionCredit = bufferedBytesMax == 30_000 ? 1 << 20 : 21_000
    try await withLoop(
      script, helloMembers: ",\"connectionCredit\":\(connectionCredit)",
      configure: { $0.bufferedBytesMax = bufferedBytesMax }
    ) { client, loop, _ in
      let call = try await Started(client, on: loop, .clientStreaming) { call in
        for n in 0..<31 { #expect(Self.send(call, "{\"n\":\(n),\"t\":\"\(text)\"}")) }
        call.halfClose()
      }
      while call.heard.all.last != "finished {}" { try await Task.sleep(for: .milliseconds(2)) }
      #expect(frames.all.count == 31)
      for (n, frame) in frames.all.enumerated() { #expect(frame.contains("{\"n\":\(n),")) }
    }
  }

  @Test func streamsWaitForTheConnectionsCredit() async throws {
    let frames = ClientLog<String>()
    try await withLoop(
      { peer, frame, id in
        frames.add(frame)
        if frame.contains("go on") {
          peer.result(id)
          peer.send(#"{"jsonrpc":"2.0","method":"rpc.credit","params":{"bytes":1000}}"#)
        }
      }, helloMembers: ",\"connectionCredit\":100"
    ) { client, loop, _ in
      let first = try await Started(client, on: loop, .clientStreaming)
      try await frames.wait(for: 1)
      #expect(try await first.on { Self.send($0, #"{"t":"a message longer than the credit"}"#) } == true)
      #expect(try await first.on { Self.send($0, "{}") } == false)
      let second = try await Started(client, on: loop, .clientStreaming)
      #expect(try await second.on { Self.send($0, "{}") } == false)
      // Calls without streams need no credit.
      let unary = try await Started(client, on: loop, .unary, params: #"{"t":"go on"}"#)
      try await unary.heard.wait(for: 1)
      for call in [first, second] {
        try await call.heard.wait(for: 1)
        #expect(call.heard.all == ["credit 0 0"])
        #expect(try await call.on { Self.send($0, "{}") } == true)
      }
    }
  }

  @Test func messagesArriveAndCreditIsGrantedExplicitly() async throws {
    let frames = ClientLog<String>()
    try await withLoop { peer, frame, id in
      frames.add(frame)
      if let id, !frame.contains("rpc.") { for n in 0..<32 { peer.message(id, "\(n)") } }
      if frame.contains("rpc.credit") { peer.message(1, "32") }
    } _: { client, loop, _ in
      let call = try await Started(client, on: loop, .serverStreaming, params: "{}")
      try await call.heard.wait(for: 32)
      #expect(frames.all.count == 1)
      _ = try await call.on { $0.grantCredit(StreamCredit(messages: 16, bytes: 7)) }
      try await call.heard.wait(for: 33)
      #expect(call.heard.all == (0...32).map { "message \($0)" })
      #expect(frames.all[1].contains("rpc.credit") && frames.all[1].contains(#""messages":16,"bytes":7"#))
      // The method has no request stream.
      #expect(try await call.on { Self.send($0, "{}") } == false)
    }
  }

  @Test func cancelledCallGetsNoMoreEvents() async throws {
    let frames = ClientLog<String>()
    try await withLoop { peer, frame, id in
      frames.add(frame)
      if frame.contains("rpc.cancel") {
        peer.message(1, "{}")
        peer.error(1, status: "CANCELLED", code: 1, processed: true)
      } else if frame.contains("next") {
        peer.result(id)
      }
    } _: { client, loop, _ in
      let call = try await Started(client, on: loop, .bidirectional)
      try await frames.wait(for: 1)
      _ = try await call.on { $0.cancel() }
      let next = try await Started(client, on: loop, .unary, params: #"{"next":1}"#)
      try await next.heard.wait(for: 1)
      #expect(next.heard.all == ["finished {}"])
      #expect(call.heard.all.isEmpty)
      #expect(try await call.on { $0.isOpen } == false)
    }
  }

  @Test func deadlineIsEnforcedByClient() async throws {
    try await withLoop({ _, _, _ in }) { client, loop, _ in
      let call = try await Started(client, on: loop, .serverStreaming, timeoutMs: 30)
      try await call.heard.wait(for: 1)
      #expect(call.heard.all.first?.hasPrefix("failed DEADLINE_EXCEEDED") == true)
      #expect(call.heard.all.first?.hasSuffix("from here") == true)
      let counted = try await loop.submit { client.callCount(on: loop) }.get()
      #expect(counted == 0)
    }
  }

  @Test func messagesSentBeforeConnectionArriveInOrder() async throws {
    let frames = ClientLog<String>()
    try await withLoop { peer, frame, id in
      frames.add(frame)
      if frame.contains("rpc.end") { peer.result(1) }
    } _: { client, loop, _ in
      let early = ClientLog<Bool>()
      let call = try await Started(
        client, on: loop, .clientStreaming,
        then: { call in
          for n in 0..<33 { early.add(Self.send(call, "{\"n\":\(n)}")) }
          call.halfClose()
        })
      #expect(early.all == Array(repeating: true, count: 32) + [false])
      try await call.heard.wait(for: 1)
      #expect(call.heard.all == ["finished {}"])
      #expect(frames.all.count == 34 && frames.all[33].contains("rpc.end"))
      for n in 0..<32 { #expect(frames.all[n + 1].contains("{\"n\":\(n)}")) }
    }
  }

  @Test func startFailuresReachHandlerLater() async throws {
    let gone = try await ClientFakeServer { _, _, _ in }
    await gone.stop()
    try await withLoop({ _, _, _ in }, configure: { $0.addresses = [.init(host: "127.0.0.1", port: gone.port)] }) {
      client, loop, _ in
      let heardAtOnce = ClientLog<Bool>()
      let call = try await Started(
        client, on: loop, .unary, waitForReady: false, then: { call in heardAtOnce.add(call.isOpen) })
      try await call.heard.wait(for: 1)
      #expect(call.heard.all == ["failed UNAVAILABLE CONNECT_FAILED false from here"])
      #expect(heardAtOnce.all == [true])
    }
  }

  @Test func foreignLoopIsRejected() async throws {
    try await withLoop({ _, _, _ in }) { client, _, _ in
      let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      let call = try await Started(client, on: group.next(), .unary)
      #expect(call.heard.all == ["failed INTERNAL LOOP_UNKNOWN true from here"])
      #expect(try await call.on { $0.isOpen } == false)
      try await group.shutdownGracefully()
    }
  }

  @Test func closingClientFailsOpenAndWaitingCalls() async throws {
    let frames = ClientLog<String>()
    try await withLoop({ _, frame, _ in frames.add(frame) }) { client, loop, _ in
      let open = try await Started(client, on: loop, .bidirectional)
      try await frames.wait(for: 1)
      await client.close()
      let late = try await Started(client, on: loop, .unary)
      try await open.heard.wait(for: 1)
      try await late.heard.wait(for: 1)
      #expect(open.heard.all == ["failed UNAVAILABLE CLIENT_CLOSED true from here"])
      #expect(late.heard.all == ["failed UNAVAILABLE CLIENT_CLOSED false from here"])
    }
  }
}
