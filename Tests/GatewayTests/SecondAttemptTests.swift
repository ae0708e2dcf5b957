import CampanileAPI
import CampanileRPC
import Synchronization
import Testing

@testable import Gateway

/// Calls that go to a second address, and backends that are left alone for a while.
@Suite struct SecondAttemptTests {
  @Test func aSlowAddressIsOvertaken() async throws {
    let silent = try await RogueBackend { _, _ in .nothing }
    let backend = try await Backend()
    let harness = try await Harness(backends: [silent.address, backend.address]) { $0.secondAttempts.hedgeMs = 10 }
    let echo = try await harness.echo()
    try await eventually("the backend serves") { harness.gateway.missingBackends.isEmpty }
    for index in 0..<20 {
      #expect(try await echo.echo(EchoRequest("\(index)")).payload == "\(index)")
    }
    // Half of them were sent to the silent one first, which was told that nobody waits any more.
    try await eventually("it is told") { silent.frames.contains { $0.contains("rpc.cancel") } }
    // What may change something is never sent twice.
    var request = FailRequest()
    request.code = 5
    for _ in 0..<10 {
      do { _ = try await echo.fail(request, options: CallOptions(timeoutMs: 100)) } catch let error as RPCError {
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

  @Test func aFailureOfTheSecondAddressLeavesTheFirst() async throws {
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
      // Longer than the hedge waits, shorter than anyone's patience. What the rogue took first may be lost with it.
      if (try? await echo.echo(EchoRequest("slow", delayMs: 50))) != nil { good += 1 }
    }
    #expect(good > 0)
    #expect(harness.recorder.all.count(where: { $0.method == "Echo" }) == 20)
    await harness.stop()
    await rogue.kill()
    await backend.server.shutdown()
  }

  /// The first address has the call and is lost; the second one, which was asked too, refuses it unseen.
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
    // Without connections to both there is no second address: then the first one is asked alone.
    try await eventually("both are asked") { asked.withLock { $0.count } == 2 }
    let (first, second) = asked.withLock { ($0[0], $0[1]) }
    await backends[first.address].kill()
    // In whichever order the gateway hears of the two, the call may have run.
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

  @Test func aBackendThatNeverAnswersIsLeftAlone() async throws {
    let harness = try await Harness(backends: [try await FaultTests.deadAddress()]) { configuration in
      configuration.breaker.failuresMax = 3
      configuration.breaker.openMs = 60_000
      configuration.breaker.openMsMax = 60_000
    }
    let echo = EchoServiceClient(try harness.client(token: internalToken))
    // Each event loop finds out for itself.
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
