import CampanileBase
import CampanileCodec
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import CampanileRPC

let clientEcho = MethodDescriptor(
  path: "test.Notes/Echo", kind: .unary, idempotency: .unknown, requestType: "test.Note", responseType: "test.Note")
let clientRead = MethodDescriptor(
  path: "test.Notes/Read", kind: .unary, idempotency: .noSideEffects, requestType: "test.Note",
  responseType: "test.Note")

/// Runs a test against a scripted server, and closes client and server afterwards.
func withClient(
  _ script: @escaping ClientFakeServer.Script, answersHello: Bool = true,
  configure: (inout ClientConfiguration) -> Void = { _ in },
  _ body: (RPCClient, ClientFakeServer) async throws -> Void
) async throws {
  let server = try await ClientFakeServer(answersHello: answersHello, script)
  var configuration = ClientConfiguration(host: "127.0.0.1", port: server.port)
  configuration.backoff.initialDelay = .milliseconds(20)
  configure(&configuration)
  let client = try RPCClient(
    configuration, group: MultiThreadedEventLoopGroup.singleton.next(), environment: ClientEnvironment(random: { 0.5 }))
  let result: Result<Void, any Error>
  do { result = .success(try await body(client, server)) } catch { result = .failure(error) }
  await client.close()
  await server.stop()
  try result.get()
}

/// Returns the error of a call that must fail.
func failure<R>(_ body: () async throws -> R) async -> RPCError? {
  do {
    _ = try await body()
    Issue.record("the call should have failed")
    return nil
  } catch {
    guard let error = error as? RPCError else {
      Issue.record("\(error) is not an RPCError")
      return nil
    }
    return error
  }
}

@Suite(.timeLimit(.minutes(1))) struct ClientUnaryTests {
  @Test func responsesMayArriveOutOfOrder() async throws {
    let waiting = ClientLog<(ClientFakeServer.Peer, Int?)>()
    try await withClient { peer, _, id in
      waiting.add((peer, id))
      guard waiting.all.count == 20 else { return }
      for (peer, id) in waiting.all.reversed() { peer.result(id, "{\"count\":\(id ?? 0),\"unknownField\":[1]}") }
    } _: { client, _ in
      try await withThrowingTaskGroup(of: Int32.self) { group in
        for _ in 0..<20 {
          group.addTask { (try await client.unary(clientEcho, Note("a")) as Note).count }
        }
        var counts: [Int32] = []
        for try await count in group { counts.append(count) }
        #expect(Set(counts) == Set(1...20))
      }
    }
  }

  @Test func requestCarriesDeadlineAndMetadata() async throws {
    let frames = ClientLog<String>()
    try await withClient { peer, frame, id in
      frames.add(frame)
      peer.result(id)
    } _: { client, _ in
      let options = CallOptions(timeoutMs: 60_000, metadata: ["traceparent": "00-a\"b"])
      _ = try await client.unary(clientEcho, Note("é\n"), options: options) as Note
      let bad = CallOptions(metadata: ["Bad Key": "x"])
      let error = await failure { try await client.unary(clientEcho, Note(), options: bad) as Note }
      #expect(error?.code == .invalidArgument && error?.processed == false)
    }
    let frame = try #require(frames.all.first)
    #expect(frame.contains(#""method":"test.Notes/Echo""#))
    #expect(frame.contains(#""metadata":{"traceparent":"00-a\"b"}"#))
    #expect(frame.contains(#""params":{"text":"é\n"}"#))
    #expect(frame.firstMatch(of: /"timeoutMs":(5\d{4}|60000),/) != nil)
    #expect(frames.all.count == 1)
  }

  @Test func errorsArriveWithTheirDetails() async throws {
    try await withClient { peer, _, id in
      peer.send(
        #"{"jsonrpc":"2.0","id":\#(id ?? 0),"error":{"code":5,"message":"gone","data":{"status":"NOT_FOUND","processed":true,"#
          + #""details":[{"reason":"NOTE_NOT_FOUND","metadata":{"id":"7"}}]}}}"#)
    } _: { client, _ in
      let error = await failure { try await client.unary(clientEcho, Note()) as Note }
      #expect(error?.code == .notFound && error?.reason == "NOTE_NOT_FOUND" && error?.errorMetadata == ["id": "7"])
    }
  }

  @Test func rejectedRetryStillReportsFirstAttemptAsProcessed() async throws {
    let attempts = ClientLog<Int>()
    try await withClient(
      losingTheFirst(attempts), configure: { ($0.retry.attemptsMax, $0.retry.initialBackoff) = (3, .milliseconds(1)) }
    ) { client, _ in
      let error = await failure { try await client.unary(clientRead, Note()) as Note }
      #expect(error?.code == .unavailable && error?.processed == true)
      #expect(attempts.all.count == 3)
      // A call without a seen attempt is reported as not processed.
      let unseen = await failure { try await client.unary(clientRead, Note()) as Note }
      #expect(unseen?.processed == false)
    }
  }

  @Test func callToSilentServerFailsAtDeadline() async throws {
    try await withClient { _, _, _ in
    } _: { client, _ in
      let options = CallOptions(timeoutMs: 50)
      let error = await failure { try await client.unary(clientEcho, Note(), options: options) as Note }
      #expect(error?.code == .deadlineExceeded)
      let none = CallOptions(timeoutMs: 0)
      let late = await failure { try await client.unary(clientEcho, Note(), options: none) as Note }
      #expect(late?.code == .deadlineExceeded && late?.processed == false)
    }
  }

  @Test func callWithoutHelloResponseFailsAtDeadline() async throws {
    try await withClient({ _, _, _ in }, answersHello: false, configure: { $0.connectTimeout = .milliseconds(100) }) {
      client, _ in
      let options = CallOptions(timeoutMs: 300)
      let error = await failure { try await client.unary(clientEcho, Note(), options: options) as Note }
      #expect(error?.code == .deadlineExceeded && error?.processed == false)
    }
  }

  @Test func keepAliveDetectsFrozenServer() async throws {
    try await withClient(
      { peer, _, _ in peer.freeze() },
      configure: {
        $0.keepAlive.interval = .milliseconds(50)
        $0.keepAlive.timeout = .milliseconds(50)
        $0.retry.attemptsMax = 1
      }
    ) { client, _ in
      let error = await failure { try await client.unary(clientEcho, Note()) as Note }
      #expect(error?.code == .unavailable && error?.processed == true)
    }
  }

  @Test func pongsKeepConnectionToSlowServerOpen() async throws {
    try await withClient(
      { peer, frame, id in
        if frame.contains("rpc.ping") { return peer.send(#"{"jsonrpc":"2.0","id":"ping","result":{}}"#) }
        peer.channel.eventLoop.scheduleTask(in: .milliseconds(3_000)) { peer.result(id, #"{"text":"slow"}"#) }
      },
      // The response is slower than the timeout, which is long enough for a busy machine.
      configure: {
        $0.keepAlive.interval = .milliseconds(100)
        $0.keepAlive.timeout = .seconds(2)
      }
    ) { client, _ in
      let note: Note = try await client.unary(clientEcho, Note())
      #expect(note.text == "slow")
    }
  }

  @Test func lostConnectionFailsCallsAsProcessed() async throws {
    try await withClient { peer, _, _ in
      peer.close()
    } _: { client, server in
      let error = await failure { try await client.unary(clientEcho, Note()) as Note }
      #expect(error?.code == .unavailable && error?.processed == true)
      #expect(server.connectionCount == 1)
    }
  }

  @Test func idempotentCallsAreRetriedOnNewConnection() async throws {
    try await withClient { peer, _, id in
      if peer.index < 2 { peer.close() } else { peer.result(id, #"{"text":"third"}"#) }
    } _: { client, server in
      let note: Note = try await client.unary(clientRead, Note())
      #expect(note.text == "third")
      #expect(server.connectionCount == 3)
    }
  }

  @Test func unseenCallsAreRetriedForEveryMethod() async throws {
    try await withClient { peer, _, id in
      if peer.receivedCount < 3 {
        peer.error(id, status: "UNAVAILABLE", code: 14, processed: false)
      } else {
        peer.result(id, #"{"count":3}"#)
      }
    } _: { client, _ in
      let note: Note = try await client.unary(clientEcho, Note())
      #expect(note.count == 3)
      let once = CallOptions(attemptsMax: 1)
      _ = try await client.unary(clientEcho, Note(), options: once) as Note
    }
  }

  @Test func drainedConnectionFinishesCallsAndIsReplaced() async throws {
    let drained = ClientLog<ClientFakeServer.Peer>()
    try await withClient { peer, frame, id in
      guard peer.index == 0 else { return peer.result(id, #"{"text":"new"}"#) }
      guard frame.contains("first") else {
        // The server has read the second call after the drain, so it is sent on another connection.
        peer.send(#"{"jsonrpc":"2.0","method":"rpc.drain"}"#)
        peer.error(id, status: "UNAVAILABLE", code: 14, processed: false)
        drained.add(peer)
        return
      }
    } _: { client, server in
      async let first: Note = client.unary(clientEcho, Note("first"))
      while server.connectionCount == 0 { await Task.yield() }
      try await Task.sleep(for: .milliseconds(20))
      let second: Note = try await client.unary(clientEcho, Note("second"))
      #expect(second.text == "new")
      drained.all.first?.result(1, #"{"text":"old"}"#)
      #expect(try await first.text == "old")
      #expect(server.connectionCount == 2)
    }
  }

  @Test(
    arguments: [
      [0, 0, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF], [0, 0, 0, 3, 0x7B, 0x7B, 0x7B], [0, 0, 0, 2, 0xFF, 0xFE],
    ] as [[UInt8]])
  func malformedFramesFailCallsOfConnection(bytes: [UInt8]) async throws {
    try await withClient { peer, _, id in
      if peer.index == 0 { peer.sendRaw(bytes) } else { peer.result(id) }
    } _: { client, _ in
      let error = await failure { try await client.unary(clientEcho, Note()) as Note }
      #expect(error?.code == .unavailable && error?.reason == "PEER_MALFORMED")
      _ = try await client.unary(clientEcho, Note()) as Note
    }
  }

  @Test func repliesMayArriveByteByByte() async throws {
    try await withClient { peer, _, id in
      let json = #"{"jsonrpc":"2.0","id":\#(id ?? 0),"result":{"text":"slow"}}"#
      for byte in [0, 0, 0, UInt8(json.utf8.count)] + Array(json.utf8) { peer.sendRaw([byte]) }
    } _: { client, _ in
      let note: Note = try await client.unary(clientEcho, Note())
      #expect(note.text == "slow")
    }
  }

  @Test func replyOfWrongTypeIsAnError() async throws {
    try await withClient { peer, _, id in
      peer.result(id, #"{"count":"many"}"#)
    } _: { client, _ in
      let error = await failure { try await client.unary(clientEcho, Note()) as Note }
      #expect(error?.code == .internalError && error?.reason == "REPLY_INVALID")
    }
  }

  @Test func cancellingTaskCancelsCall() async throws {
    let frames = ClientLog<String>()
    try await withClient { _, frame, _ in
      frames.add(frame)
    } _: { client, _ in
      let task = Task { try await client.unary(clientEcho, Note()) as Note }
      try await frames.wait(for: 1)
      task.cancel()
      let error = await failure { try await task.value }
      #expect(error?.code == .cancelled)
      try await frames.wait(for: 2)
      #expect(frames.all.last?.contains("rpc.cancel") == true)
      let early = Task { () async throws -> Note in
        withUnsafeCurrentTask { $0?.cancel() }
        return try await client.unary(clientEcho, Note())
      }
      #expect(await failure { try await early.value }?.code == .cancelled)
    }
  }

  @Test func callsBeyondServerLimitWait() async throws {
    let held = ClientLog<(ClientFakeServer.Peer, Int?)>()
    try await withClient { peer, _, id in
      held.add((peer, id))
    } _: { client, _ in
      let calls = (0..<101).map { _ in Task { try await client.unary(clientEcho, Note()) as Note } }
      try await held.wait(for: 100)
      try await Task.sleep(for: .milliseconds(20))
      #expect(held.all.count == 100)
      for (peer, id) in held.all { peer.result(id) }
      try await held.wait(for: 101)
      held.all[100].0.result(held.all[100].1)
      for call in calls { _ = try await call.value }
    }
  }

  @Test func waitingCallsAreBounded() async throws {
    try await withClient({ _, _, _ in }, answersHello: false, configure: { $0.waitingCallsMax = 2 }) { client, _ in
      let waiting = (0..<2).map { _ in Task { try await client.unary(clientEcho, Note()) as Note } }
      try await Task.sleep(for: .milliseconds(50))
      let error = await failure { try await client.unary(clientEcho, Note()) as Note }
      #expect(error?.code == .resourceExhausted && error?.reason == "QUEUE_FULL" && error?.processed == false)
      await client.close()
      for call in waiting {
        let closed = await failure { try await call.value }
        #expect(closed?.reason == "CLIENT_CLOSED" && closed?.processed == false)
      }
    }
  }

  @Test func oversizedRequestIsRejectedByClient() async throws {
    try await withClient { peer, _, id in
      peer.result(id)
    } _: { client, _ in
      let note = Note(String(repeating: "x", count: 70_000))
      let error = await failure { try await client.unary(clientEcho, note) as Note }
      #expect(error?.reason == "FRAME_TOO_LARGE" && error?.processed == false)
      _ = try await client.unary(clientEcho, Note()) as Note
    }
  }

  @Test func callsWithoutServerFailAccordingToOptions() async throws {
    let gone = try await ClientFakeServer { _, _, _ in }
    await gone.stop()
    let client = try RPCClient(ClientConfiguration(host: "127.0.0.1", port: gone.port))
    let impatient = CallOptions(waitForReady: false)
    let error = await failure { try await client.unary(clientRead, Note(), options: impatient) as Note }
    #expect(error?.code == .unavailable && error?.reason == "CONNECT_FAILED" && error?.processed == false)
    let patient = CallOptions(timeoutMs: 50)
    let late = await failure { try await client.unary(clientRead, Note(), options: patient) as Note }
    #expect(late?.code == .deadlineExceeded && late?.message.contains("waiting for a connection") == true)
    await client.close()
    let closed = await failure { try await client.unary(clientRead, Note()) as Note }
    #expect(closed?.reason == "CLIENT_CLOSED")
  }

  @Test func nextAddressIsTried() async throws {
    let gone = try await ClientFakeServer { _, _, _ in }
    await gone.stop()
    try await withClient(
      { peer, _, id in peer.result(id) },
      configure: {
        $0.addresses.insert(.init(host: "127.0.0.1", port: gone.port), at: 0)
      }
    ) { client, _ in _ = try await client.unary(clientEcho, Note()) as Note }
  }

  @Test func rawJSONIsCheckedBeforeItIsSent() async throws {
    try await withClient { peer, _, id in
      peer.result(id, #"{"raw": true}"#)
    } _: { client, _ in
      let reply = try await client.rawUnary(method: "a/b", paramsJSON: Array(#"{"x":1}"#.utf8))
      #expect(String(decoding: reply, as: UTF8.self) == #"{"raw": true}"#)
      for bad in ["{", "[]", "1", "{}{}", #"{},"id":2"#, String(repeating: #"{"a":"#, count: 100)] {
        let error = await failure { try await client.rawUnary(method: "a/b", paramsJSON: Array(bad.utf8)) }
        #expect(error?.reason == "MESSAGE_NOT_JSON")
      }
    }
  }

  @Test(arguments: [
    ClientConfiguration(addresses: []), ClientConfiguration(host: "", port: 1), ClientConfiguration(host: "h", port: 0),
    ClientConfiguration(host: "h", port: 1, tls: ClientTLS(trustRootsPath: "/nonexistent.pem")),
  ])
  func invalidConfigurationsAreRejected(configuration: ClientConfiguration) async {
    #expect(await failure { try RPCClient(configuration) }?.code == .invalidArgument)
  }
}
