import CampanileBase
import CampanileCodec
import Foundation
import Logging
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import CampanileRPC

private func method(_ name: String, _ kind: CallKind, _ idempotency: Idempotency = .unknown) -> MethodDescriptor {
  MethodDescriptor(
    path: "test.Notes/\(name)", kind: kind, idempotency: idempotency, requestType: "test.Note",
    responseType: "test.Note")
}
private let count = method("Count", .serverStreaming)
private let sum = method("Sum", .clientStreaming)
private let slow = method("Slow", .clientStreaming)
private let chat = method("Chat", .bidirectional)
private let hang = method("Hang", .unary)

/// The client against the real server, over sockets.
@Suite(.timeLimit(.minutes(1))) struct ClientServerTests {
  @Test func errorOfUnreadableRequestNamesItsFieldOnce() throws {
    let error = try #require(throws: ProtoJSONError.self) { try Note(jsonString: #"{"count":[]}"#) }
    let reported = RPCError(error)
    #expect(reported.message.hasPrefix("count: "))
    #expect(!reported.message.dropFirst("count: ".count).contains("count"))
    #expect(reported.fieldViolations.map(\.field) == ["count"])
    #expect(reported.fieldViolations.allSatisfy { !$0.description.contains("count") })
  }

  private func registry(ended: ClientLog<String>) -> MethodRegistry {
    var registry = MethodRegistry()
    registry.unary(clientEcho) { (note: Note, _: CallContext) async throws -> Note in note }
    registry.unary(hang) { (_: Note, _: CallContext) async throws -> Note in
      ended.add("began")
      do { try await Task.sleep(for: .seconds(600)) } catch { ended.add("ended") }
      throw RPCError(.cancelled, "cancelled")
    }
    registry.serverStreaming(count) { (note: Note, _: CallContext, sink: ResponseSink<Note>) async throws in
      for n in 0..<note.count { try await sink.send(Note("n", count: n)) }
    }
    registry.clientStreaming(sum) { (requests: RequestStream<Note>, _: CallContext) async throws -> Note in
      var total: Int32 = 0
      for try await note in requests { total += note.count }
      return Note("sum", count: total)
    }
    registry.clientStreaming(slow) { (requests: RequestStream<Note>, _: CallContext) async throws -> Note in
      try await ended.wait(for: 1)
      var total: Int32 = 0
      for try await note in requests { total += Int32(note.text.utf8.count) }
      return Note("slow", count: total)
    }
    registry.bidirectional(chat) {
      (requests: RequestStream<Note>, _: CallContext, sink: ResponseSink<Note>) async throws in
      for try await note in requests { try await sink.send(Note(note.text, count: note.count * 2)) }
    }
    return registry
  }

  private func withServer(
    _ change: (inout ServerConfiguration) -> Void = { _ in }, client: (inout ClientConfiguration) -> Void = { _ in },
    _ body: (RPCClient, RPCServer, ClientLog<String>) async throws -> Void
  ) async throws {
    var configuration = ServerConfiguration(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    change(&configuration)
    let ended = ClientLog<String>()
    let group = MultiThreadedEventLoopGroup.singleton
    let server = RPCServer(
      configuration, dispatcher: TypedDispatcher(registry(ended: ended)),
      authenticator: InternalTokenAuthenticator(token: "secret"), group: group)
    let address = try await server.start()
    var wanted = ClientConfiguration(host: "127.0.0.1", port: address.port ?? 0)
    client(&wanted)
    let caller = try RPCClient(wanted, group: group)
    let result: Result<Void, any Error>
    do { result = .success(try await body(caller, server, ended)) } catch { result = .failure(error) }
    await caller.close()
    await server.shutdown()
    try result.get()
  }

  private func exercise(_ client: RPCClient) async throws {
    let note: Note = try await client.unary(clientEcho, Note("ciao 🔔", count: 7))
    #expect(note == Note("ciao 🔔", count: 7))
    var counts: [Int32] = []
    let stream: ResponseStream<Note> = client.serverStreaming(count, Note("", count: 500))
    for try await note in stream { counts.append(note.count) }
    #expect(counts == Array(0..<500))
    let total: Note = try await client.clientStreaming(sum) { (sink: RequestSink<Note>) in
      for n in 1...500 { try await sink.send(Note("", count: Int32(n))) }
    }
    #expect(total.count == 125_250)
    let replies: ResponseStream<Note> = client.bidirectional(chat) { (sink: RequestSink<Note>) in
      for n in 0..<500 { try await sink.send(Note("c", count: Int32(n))) }
    }
    var doubled: [Int32] = []
    for try await note in replies { doubled.append(note.count) }
    #expect(doubled == (0..<500).map { $0 * 2 })
  }

  @Test func allCallKindsWork() async throws {
    try await withServer { client, _, _ in try await exercise(client) }
  }

  /// More bytes than the connection's credit, for a handler that first does not read.
  @Test func longMessagesWaitForSlowHandlerAndHoldNoOtherCall() async throws {
    try await withServer(client: { $0.token = "secret" }) { client, _, ended in
      let text = String(repeating: "x", count: 4_000_000)
      let sent = ClientLog<Int>()
      let total = Task {
        try await client.clientStreaming(slow) { (sink: RequestSink<Note>) in
          for n in 0..<20 {
            try await sink.send(Note(text))
            sent.add(n)
          }
        } as Note
      }
      try await sent.wait(for: 1)
      try await exercise(client)
      // One message is longer than the byte credit, which it overdraws.
      #expect(sent.all == [0])
      ended.add("read")
      #expect(try await total.value.count == 80_000_000)
    }
  }

  @Test func announcedCreditBoundsUnreadResponses() async throws {
    let initial = StreamCredit(messages: 100, bytes: 2 << 20)
    try await withServer(client: { $0.streamCredit = initial }) { client, _, _ in
      let stream: ResponseStream<Note> = client.serverStreaming(count, Note("", count: 500))
      var counts: [Int32] = []
      for try await note in stream { counts.append(note.count) }
      #expect(counts == Array(0..<500))
    }
    let invalid = await failure {
      try await withServer(client: { $0.streamCredit = StreamCredit(messages: 31, bytes: 2 << 20) }) { _, _, _ in }
    }
    #expect(invalid?.reason == "CONFIGURATION_INVALID")
  }

  @Test func concurrentCallsAllComplete() async throws {
    try await withServer(client: {
      $0.token = "secret"
      $0.connectionsPerLoop = 2
    }) { client, _, _ in
      try await withThrowingTaskGroup(of: Bool.self) { group in
        for n in 0..<2_000 {
          group.addTask {
            let note: Note = try await client.unary(clientEcho, Note("n", count: Int32(n)))
            return note.count == Int32(n)
          }
        }
        for try await isRight in group { #expect(isRight) }
      }
    }
  }

  @Test func internalTokenIsProved() async throws {
    try await withServer(client: { $0.internalToken = "secret" }) { client, _, _ in try await exercise(client) }
    try await withServer(client: { $0.internalToken = "wrong" }) { client, _, _ in
      let error = await failure { try await client.unary(clientEcho, Note()) as Note }
      #expect(error?.reason == "SERVER_UNPROVEN" && error?.code == .unauthenticated && error?.processed == false)
    }
  }

  @Test func wrongTokenFailsCallsWithServerError() async throws {
    try await withServer(client: { $0.token = "wrong" }) { client, _, _ in
      let error = await failure { try await client.unary(clientEcho, Note()) as Note }
      #expect(error?.code == .unauthenticated && error?.processed == false)
    }
  }

  @Test func cancellingCallCancelsHandler() async throws {
    try await withServer { client, _, ended in
      let call = Task { try await client.unary(hang, Note()) as Note }
      try await ended.wait(for: 1)
      call.cancel()
      #expect(await failure { try await call.value }?.code == .cancelled)
      try await ended.wait(for: 2)
      #expect(ended.all == ["began", "ended"])
    }
  }

  @Test func halfClosedConnectionCancelsHandler() async throws {
    try await withServer { client, _, ended in
      let port = client.configuration.addresses[0].port
      let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .channelOption(.allowRemoteHalfClosure, value: true)
        .connect(host: "127.0.0.1", port: port).get()
      let frame = #"{"jsonrpc":"2.0","id":1,"method":"test.Notes/Hang"}"#
      var bytes = ByteBuffer()
      bytes.writeInteger(UInt32(frame.utf8.count))
      bytes.writeString(frame)
      try await channel.writeAndFlush(bytes)
      try await ended.wait(for: 1)
      try await channel.close(mode: .output)
      try await ended.wait(for: 2)
      #expect(ended.all == ["began", "ended"])
      try await channel.closeFuture.get()
    }
  }

  @Test func deadlineCancelsHandler() async throws {
    try await withServer { client, _, ended in
      // Connect first, on every loop, so that the call reaches the server before its deadline.
      for _ in 0..<64 { _ = try await client.unary(clientEcho, Note()) as Note }
      let options = CallOptions(timeoutMs: 100)
      let error = await failure { try await client.unary(hang, Note(), options: options) as Note }
      #expect(error?.code == .deadlineExceeded)
      try await ended.wait(for: 2)
      #expect(ended.all == ["began", "ended"])
    }
  }

  @Test func unknownMethodsAreUnimplemented() async throws {
    try await withServer { client, _, _ in
      let error = await failure { try await client.unary(method("None", .unary), Note()) as Note }
      #expect(error?.code == .unimplemented && error?.processed == false)
    }
  }

  @Test func drainLosesNoCall() async throws {
    try await withServer { client, server, _ in
      let calls = (0..<8).map { worker in
        Task { () async -> [RPCError] in
          var failures: [RPCError] = []
          while failures.isEmpty {
            do {
              let options = CallOptions(timeoutMs: 5_000, waitForReady: false)
              _ = try await client.unary(clientEcho, Note("w", count: Int32(worker)), options: options) as Note
            } catch { failures.append((error as? RPCError) ?? RPCError(.unknown, "\(error)")) }
          }
          return failures
        }
      }
      try await Task.sleep(for: .milliseconds(100))
      await server.drain(timeout: .seconds(2))
      for call in calls {
        // The server stays down, but no call that it may have run was lost.
        for error in await call.value { #expect(error.code == .unavailable && !error.processed, "\(error)") }
      }
    }
  }

  @Test func callOnEventLoopStaysOnIt() async throws {
    try await withServer { client, _, _ in
      let loop = MultiThreadedEventLoopGroup.singleton.next()
      let executor = LoopExecutor(loop)
      let stayed = try await Task(executorPreference: executor) {
        _ = try await client.unary(clientEcho, Note("a")) as Note
        return MultiThreadedEventLoopGroup.currentEventLoop === loop
      }.value
      #expect(stayed)
    }
  }

  @Test func tlsAndMutualTLSWork() async throws {
    let folder = try TemporaryFolder()
    for name in ["server", "client"] {
      try ExternalProgram.makeCertificate(
        folder.file("\(name).pem"), key: folder.file("\(name).key"), names: "DNS:\(name).test")
    }
    let serverTLS = try ServerTLSContext(
      ServerTLS(
        certificateChainFile: folder.file("server.pem"), privateKeyFile: folder.file("server.key"),
        clientCertificateAuthoritiesFile: folder.file("client.pem")))
    var clientTLS = ClientTLS(
      trustRootsPath: folder.file("server.pem"), certificateChainPath: folder.file("client.pem"),
      privateKeyPath: folder.file("client.key"), serverName: "server.test")
    try await withServer({ $0.tls = serverTLS }, client: { $0.tls = clientTLS }) { client, _, _ in
      try await exercise(client)
    }
    let impatient = CallOptions(waitForReady: false)
    clientTLS.serverName = "other.test"
    try await withServer({ $0.tls = serverTLS }, client: { $0.tls = clientTLS }) { client, _, _ in
      let error = await failure { try await client.unary(clientEcho, Note(), options: impatient) as Note }
      #expect(error?.code == .unavailable && error?.processed == false)
    }
    clientTLS.serverName = "server.test"
    clientTLS.certificateChainPath = nil
    clientTLS.privateKeyPath = nil
    try await withServer({ $0.tls = serverTLS }, client: { $0.tls = clientTLS }) { client, _, _ in
      let error = await failure { try await client.unary(clientEcho, Note(), options: impatient) as Note }
      #expect(error?.code == .unavailable && error?.processed == false)
    }
  }
}
