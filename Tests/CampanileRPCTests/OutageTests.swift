import CampanileAPI
import CampanileBase
import Foundation
import Testing

@testable import CampanileRPC

/// Calls to a server process that freezes, dies or becomes unreachable. The time limit ensures that none hangs;
/// afterwards, calls succeed again.
@Suite(.serialized, .timeLimit(.minutes(2))) struct OutageTests {
  @Test func aServerThatFreezes() async throws {
    let server = try await EchoProcess()
    try await outage(of: server) {
      try await server.freeze()
    } after: {
      server.signal(SIGCONT)
    }
  }

  @Test func aServerThatFreezesAndIsReplaced() async throws {
    let server = try await EchoProcess()
    try await outage(of: server) {
      try await server.freeze()
    } after: {
      server.end()
      try await server.start()
    }
  }

  @Test func aServerThatIsKilledAndStartedAgain() async throws {
    let server = try await EchoProcess()
    try await outage(of: server) {
      server.end()
    } after: {
      try await server.start()
    }
  }

  @Test(.enabled(if: TestNetwork.isAllowed, "requires permission to create network namespaces (ip netns add)"))
  func aNetworkThatDropsEveryPacket() async throws {
    let network = try TestNetwork()
    let server = try await EchoProcess(host: network.there, launcher: network.launcher)
    try await outage(of: server) {
      try network.cut()
    } after: {
      try network.mend()
    }
    server.end()
  }

  // MARK: - shared by all tests

  private func outage(
    of server: EchoProcess, begins: () async throws -> Void, after: () async throws -> Void
  ) async throws {
    var configuration = ClientConfiguration(host: server.host, port: server.port, token: EchoProcess.token)
    configuration.keepAlive.interval = .milliseconds(400)
    configuration.keepAlive.timeout = .milliseconds(400)
    configuration.connectTimeout = .milliseconds(500)
    configuration.backoff.initialDelay = .milliseconds(50)
    configuration.backoff.delayMax = .milliseconds(200)
    configuration.waitMax = .seconds(1)
    configuration.retry.attemptsMax = 1
    let client = try RPCClient(configuration)
    let echo = EchoServiceClient(client)

    var calls = try await openCalls(echo)
    try await begins()
    calls += newCalls(echo)
    for call in calls {
      let code = await call.value
      #expect(code == .unavailable || code == .deadlineExceeded, "\(String(describing: code))")
    }
    // At this point the client has detected that the connections are dead.
    for call in newCalls(echo) {
      let code = await call.value
      #expect(code == .unavailable || code == .deadlineExceeded, "\(String(describing: code))")
    }

    try await after()
    #expect(try await echo.echo(request("again")).payload == "again")
    let expand = ExpandRequest(count: 100)
    var count = 0
    for try await _ in echo.expand(expand) { count += 1 }
    #expect(count == 100)
    await client.close()
  }

  private typealias Call = Task<RPCError.Code?, Never>

  private func request(_ payload: String, delayMs: Int32 = 0) -> EchoRequest {
    EchoRequest(payload: payload, delayMs: delayMs)
  }

  private func call(_ body: @escaping @Sendable () async throws -> Void) -> Call {
    Task {
      do {
        try await body()
        return nil
      } catch { return (error as? RPCError)?.code ?? .unknown }
    }
  }

  /// Starts calls of every kind that would last for minutes, and returns them.
  private func openCalls(_ echo: EchoServiceClient) async throws -> [Call] {
    let begun = ClientLog<String>()
    let slow = request("slow", delayMs: 600_000)
    var calls = (0..<8).map { _ in
      call { _ = try await echo.echo(slow, options: CallOptions(timeoutMs: 600_000)) }
    }
    let expand = ExpandRequest(count: 1_000_000, intervalMs: 10)
    calls.append(call { [expand] in for try await _ in echo.expand(expand) { begun.add("expand") } })
    calls.append(
      call {
        _ = try await echo.collect { sink in
          while true {
            try await sink.send(CollectRequest())
            begun.add("collect")
            try await Task.sleep(for: .milliseconds(2))
          }
        }
      })
    calls.append(
      call {
        let replies = echo.chat { sink in
          try await sink.send(ChatRequest())
          try await Task.sleep(for: .seconds(600))
        }
        for try await _ in replies { begun.add("chat") }
      })
    // Wait until a stream has sent more messages than its initial credit.
    while true {
      let all = begun.all
      if all.contains("chat"), all.contains("expand"), all.count(where: { $0 == "collect" }) > 40 { return calls }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  /// Starts calls while the server does not respond.
  private func newCalls(_ echo: EchoServiceClient) -> [Call] {
    var calls = (0..<4).map { _ in
      call { _ = try await echo.echo(request("late"), options: CallOptions(timeoutMs: 300)) }
    }
    calls.append(call { _ = try await echo.echo(request("impatient"), options: CallOptions(waitForReady: false)) })
    // More bytes than the socket buffers hold, so that writes block, too.
    let large = request(String(repeating: "x", count: 2_000_000))
    calls += (0..<12).map { _ in
      call { _ = try await echo.echo(large, options: CallOptions(timeoutMs: 5_000)) }
    }
    let expand = ExpandRequest(count: 1, intervalMs: 0)
    // Without a deadline, the call waits for a connection for `waitMax`.
    calls.append(call { [expand] in for try await _ in echo.expand(expand) {} })
    return calls
  }
}
