import CampanileBase
import CampanileCodec
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import CampanileRPC

private let wait = MethodDescriptor(
  path: "test.Waits/Wait", kind: .unary, idempotency: .unknown, requestType: "test.Note", responseType: "test.Note")

/// A service whose call waits for `count` milliseconds.
private struct Waits: RPCService {
  let begun: ClientLog<String>

  func register(in registry: inout MethodRegistry) {
    registry.unary(wait) { (note: Note, _: CallContext) async throws -> Note in
      begun.add(note.text)
      try await Task.sleep(for: .milliseconds(Int(note.count)))
      return note
    }
  }
}

/// Servers assembled from services, over sockets.
@Suite(.timeLimit(.minutes(1))) struct ServerRunTests {
  private let begun = ClientLog<String>()
  private let lines = LogLines()

  private func server() -> RPCServer {
    RPCServer(ServerConfiguration(logger: lines.logger), services: [Waits(begun: begun)])
  }

  private func call(_ client: RPCClient, _ note: Note, timeout: Duration = .seconds(30)) async throws -> Note {
    try await client.unary(wait, note, options: CallOptions(timeout: timeout))
  }

  private func configuration(_ address: HostPort) -> ClientConfiguration { ClientConfiguration(addresses: [address]) }

  private func configuration(_ address: SocketAddress) -> ClientConfiguration {
    ClientConfiguration(host: "127.0.0.1", port: address.port ?? 0)
  }

  @Test func serverRunsWhileBodyRunsAndReturnsItsResult() async throws {
    let server = server()
    let (note, address) = try await server.run { address in
      (try await RPCClient.with(configuration(address)) { try await call($0, Note("a", count: 1)) }, address)
    }
    #expect(note.text == "a")
    #expect(server.connectionCount == 0)
    let error = await failure {
      try await RPCClient.with(configuration(address)) { client in
        try await client.unary(wait, Note(), options: CallOptions(waitForReady: false)) as Note
      }
    }
    #expect(error?.code == .unavailable)
  }

  @Test func errorOfBodyIsThrownAfterShutdown() async throws {
    struct Failure: Error {}
    let server = server()
    await #expect(throws: Failure.self) { try await server.run { _ in throw Failure() } }
    await #expect(throws: RPCError.self) { try await server.start() }
  }

  @Test func cancellationDrainsOpenCalls() async throws {
    let server = server()
    let (addresses, continuation) = AsyncStream.makeStream(of: HostPort.self)
    let running = Task {
      try await server.run { address in
        continuation.yield(address)
        try await Task.sleep(for: .seconds(600))
      }
    }
    var iterator = addresses.makeAsyncIterator()
    let address = try #require(await iterator.next())
    try await RPCClient.with(configuration(address)) { client in
      async let slow = call(client, Note("slow", count: 300))
      try await begun.wait(for: 1)
      running.cancel()
      #expect(try await slow.text == "slow")
    }
    await #expect(throws: CancellationError.self) { try await running.value }
    #expect(lines.all.isEmpty)
  }

  @Test func cancelledServerWithoutBodyEndsWithoutError() async throws {
    let server = server()
    let running = Task { try await server.run(draining: .seconds(1)) }
    running.cancel()
    try await running.value
  }

  @Test func drainReportsWhetherItTimedOut() async throws {
    let server = server()
    let address = try await server.start()
    try await RPCClient.with(configuration(address)) { client in
      async let slow = failure { try await call(client, Note("slow", count: 60_000)) }
      try await begun.wait(for: 1)
      #expect(await server.drain(timeout: .milliseconds(20)) == false)
      await server.shutdown()
      #expect(await slow?.code == .unavailable)
    }
    #expect(await server.drain(timeout: .seconds(1)))
  }

  @Test func callsLongerThanDrainingEndAndAreLogged() async throws {
    let server = server()
    let error = try await server.run(draining: .milliseconds(20)) { address in
      let client = try RPCClient(configuration(address))
      let slow = Task { await failure { try await call(client, Note("slow", count: 60_000)) } }
      try await begun.wait(for: 1)
      return slow
    }
    #expect(await error.value?.code == .unavailable)
    #expect(lines.all.map(\.message) == ["calls are still open after draining; closing their connections"])
  }

  @Test func secondStartThrowsAndFirstListenerServes() async throws {
    let server = server()
    let address = try await server.start()
    let error = await failure { try await server.start() }
    #expect(error?.code == .failedPrecondition && error?.reason == "SERVER_STARTED")
    let note = try await RPCClient.with(configuration(address)) { try await call($0, Note("b")) }
    #expect(note.text == "b")
    await server.shutdown()
    #expect(await failure { try await server.start() }?.reason == "SERVER_STARTED")
  }

  @Test func serverStartsAfterItsAddressWasInUse() async throws {
    let port = fixedPort()
    let first = RPCServer(ServerConfiguration(port: port), services: [Waits(begun: begun)])
    _ = try await first.start()
    let second = RPCServer(ServerConfiguration(port: port), services: [Waits(begun: begun)])
    await #expect(throws: IOError.self) { try await second.start() }
    await first.shutdown()
    #expect(try await second.start().port == port)
    await second.shutdown()
  }

  @Test func timeoutEndsCall() async throws {
    try await server().run { address in
      try await RPCClient.with(configuration(address)) { client in
        let error = await failure { try await call(client, Note("slow", count: 60_000), timeout: .milliseconds(50)) }
        #expect(error?.code == .deadlineExceeded)
      }
    }
  }

  @Test func clientIsClosedAfterItsBody() async throws {
    try await server().run { address in
      let client = try await RPCClient.with(configuration(address)) { $0 }
      #expect(await failure { try await call(client, Note()) }?.reason == "CLIENT_CLOSED")
    }
  }
}
