import CampanileAPI
import CampanileBase
import CampanileRPC
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import Gateway

/// Calls that are sent to a second address, and backends with an open circuit breaker.
@Suite struct SecondAttemptTests {
  @Test func callsToASlowAddressAreHedged() async throws {
    let silent = try await RogueBackend { _, _ in .nothing }
    let backend = try await Backend()
    let harness = try await Harness(backends: [silent.address, backend.address]) { $0.secondAttempts.hedgeMs = 10 }
    let echo = try await harness.echo()
    try await eventually("the backend serves") { harness.gateway.missingBackends.isEmpty }
    for index in 0..<20 {
      #expect(try await echo.echo(EchoRequest("\(index)")).payload == "\(index)")
    }
    // Half of the calls were sent to the silent address first, which then receives a cancel.
    try await eventually("the cancel arrives") { silent.frames.contains { $0.contains("rpc.cancel") } }
    // A call that may have side effects is never sent twice.
    for _ in 0..<10 {
      do { _ = try await echo.fail(.init(code: 5), options: CallOptions(timeoutMs: 1_000)) } catch let error as RPCError
      {
        #expect(error.code == .notFound || error.code == .deadlineExceeded)
      }
    }
    let sent =
      silent.frames.count(where: { $0.contains("EchoService/Fail") })
      + backend.seen.all.count(where: { $0.method.name == "Fail" })
    #expect(sent == 10)
    await harness.stop()
    await silent.kill()
    await backend.server.shutdown()
  }

  @Test func failureOfTheSecondAddressDoesNotEndTheFirst() async throws {
    let rogue = try await RogueBackend { _, _ in .init(closes: true) }
    let backend = try await Backend()
    let harness = try await Harness(backends: [rogue.address, backend.address]) { configuration in
      configuration.secondAttempts.hedgeMs = 10
      configuration.outliers.consecutiveFailuresMax = 1_000
      configuration.outliers.failureRatioMax = 2
    }
    let echo = try await harness.echo()
    try await eventually("the backend serves") { harness.gateway.missingBackends.isEmpty }
    var good = 0
    for _ in 0..<20 {
      // Longer than the delay of the hedge. A call that the rogue backend received first may be lost with it.
      if (try? await echo.echo(EchoRequest("slow", delayMs: 50))) != nil { good += 1 }
    }
    #expect(good > 0)
    #expect(harness.recorder.all.count(where: { $0.method == "Echo" }) == 20)
    await harness.stop()
    await rogue.kill()
    await backend.server.shutdown()
  }

  /// The first address is lost with the call. The second one, which also received it, refuses it as not processed.
  @Test func aRefusalOfTheSecondAddressDoesNotHideTheFirst() async throws {
    let asked = Mutex<[(address: Int, id: Int)]>([])
    let backends = [
      try await RogueBackend { id, _ in
        asked.withLock { $0.append((0, id)) }
        return .nothing
      },
      try await RogueBackend { id, _ in
        asked.withLock { $0.append((1, id)) }
        return .nothing
      },
    ]
    let harness = try await Harness(backends: backends.map(\.address)) { $0.secondAttempts.hedgeMs = 10 }
    let echo = try await harness.echo()
    try await eventually("the backends serve") { harness.gateway.missingBackends.isEmpty }
    let call = Task { try await echo.echo(EchoRequest("a"), options: CallOptions(timeoutMs: 10_000)) }
    // Without connections to both there is no second address, and only the first one is asked.
    try await eventually("both are asked") { asked.withLock { $0.count } == 2 }
    let (first, second) = asked.withLock { ($0[0], $0[1]) }
    await backends[first.address].kill()
    // Whichever of the two events the gateway sees first, the call may have been executed.
    try await Task.sleep(for: .milliseconds(100))
    backends[second.address].send(
      #"{"jsonrpc":"2.0","id":\#(second.id),"error":{"code":14,"message":"no","data":{"status":"UNAVAILABLE","processed":false}}}"#
    )
    do {
      _ = try await call.value
      Issue.record("the call succeeded")
    } catch let error as RPCError {
      #expect(error.code == .unavailable && error.processed, "\(error)")
    }
    await harness.stop()
    for backend in backends { await backend.kill() }
  }

  @Test func abandonedCallDoesNotClearFailures() async throws {
    let addresses = [1, 2].map { HostPort(host: "127.0.0.1", port: $0) }
    let clients = try addresses.map { try RPCClient(ClientConfiguration(host: $0.host, port: $0.port)) }
    let ejected = try await sharedLoop.submit {
      var ejected: [String] = []
      let pool = BackendPool(
        BackendConfiguration(name: "echo", servicePrefix: "campanile.rpc.v1.EchoService", addresses: addresses),
        clients: clients, loop: sharedLoop, outliers: OutlierPolicy(), limits: GatewayLimits(),
        breaker: GatewayConfiguration(backends: [], methods: []).breaker,
        retries: SecondAttemptPolicy(), seed: 1, onChange: {}, onEjection: { ejected.append($0) })
      for _ in 0..<5 {
        for outcome in [BackendPool.Outcome.gaveUp, .unavailable] { pool.ended(pool.addresses[0], outcome) }
        pool.ended(pool.addresses[1], .gaveUp)
      }
      return ejected
    }.get()
    #expect(ejected == ["127.0.0.1:1"])
    for client in clients { await client.close() }
  }

  @Test func onlyAnsweredDeadlineClearsFailures() {
    let late = RPCError(.deadlineExceeded, "late")
    #expect(BackendPool.Outcome(late, isAnswer: false) == .gaveUp)
    #expect(BackendPool.Outcome(late, isAnswer: true) == .answered)
  }

  @Test func retriesEarnNoCreditForRetries() async throws {
    let attempts = Atomic(0)
    let refuse: @Sendable (Int, String) -> RogueBackend.Reply = { id, _ in
      attempts.add(1, ordering: .relaxed)
      let error = #"{"code":14,"message":"no","data":{"status":"UNAVAILABLE","processed":false}}"#
      return .init(frames: [#"{"jsonrpc":"2.0","id":\#(id),"error":\#(error)}"#])
    }
    let backends = [try await RogueBackend(answer: refuse), try await RogueBackend(answer: refuse)]
    let harness = try await Harness(backends: backends.map(\.address)) { configuration in
      (configuration.secondAttempts.ratio, configuration.secondAttempts.burst) = (0.5, 1)
      configuration.outliers.consecutiveFailuresMax = 1_000
      configuration.outliers.failureRatioMax = 2
      configuration.breaker.failuresMax = 1_000
    }
    let echo = try await harness.echo()
    try await eventually("the backends serve") { harness.gateway.missingBackends.isEmpty }
    for _ in 0..<20 { _ = try? await echo.echo(EchoRequest("a")) }
    // Two calls earn one retry. Each of the two event loops begins with one.
    let count = attempts.load(ordering: .relaxed)
    #expect((30...31).contains(count), "\(count)")
    await harness.stop()
    for backend in backends { await backend.kill() }
  }

  @Test func unreachableBackendOpensTheBreaker() async throws {
    let harness = try await Harness(backends: [try await FaultTests.deadAddress()]) { configuration in
      configuration.breaker.failuresMax = 3
      configuration.breaker.pause.initialDelay = .seconds(60)
      configuration.breaker.pause.delayMax = .seconds(60)
    }
    let echo = EchoServiceClient(try harness.client(token: internalToken))
    // Each event loop has its own circuit breaker.
    var refusals: [RPCError] = []
    for _ in 0..<20 {
      if let error = await expectFailure(.unavailable, "BACKEND_UNAVAILABLE", { try await echo.echo(EchoRequest("a")) })
      {
        refusals.append(error)
      }
    }
    #expect(refusals.allSatisfy { !$0.processed })
    #expect(refusals.count(where: { $0.retryAfterMs == nil }) <= 3 * 2)
    #expect(refusals.compactMap(\.retryAfterMs).allSatisfy { (1...60_000).contains($0) })
    await harness.stop()
  }
}
