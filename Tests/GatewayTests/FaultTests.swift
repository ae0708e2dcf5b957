import CampanileAPI
import CampanileBase
import CampanileRPC
import NIOCore
import NIOPosix
import Synchronization
import TestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

@testable import Gateway

/// The errors that callers receive when backends misbehave or disappear.
@Suite struct FaultTests {
  /// An address without a listener. A bound socket reserves the port until the process ends, so no other test gets it.
  static func deadAddress() async throws -> HostPort {
    #if canImport(Glibc)
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { raw in
        bind(descriptor, raw, length) == 0 ? getsockname(descriptor, raw, &length) : -1
      }
    }
    try #require(code == 0)
    return HostPort(host: "127.0.0.1", port: Int(UInt16(bigEndian: address.sin_port)))
  }

  @Test func callsToADeadBackendAreUnavailableAndNotProcessed() async throws {
    let harness = try await Harness(backends: [try await Self.deadAddress()])
    let echo = try await harness.echo()
    for _ in 0..<20 {
      let error = await expectFailure(.unavailable, "BACKEND_UNAVAILABLE") { try await echo.echo(EchoRequest("a")) }
      #expect(error?.processed == false)
      #expect(error?.message.contains("127.0.0.1") == false)
    }
    #expect(harness.gateway.missingBackends == ["echo"])
    await harness.stop()
  }

  @Test func aBackendThatRefusesTheGatewayIsUnavailable() async throws {
    let rogue = try await RogueBackend(refusingHello: true) { _, _ in .nothing }
    let harness = try await Harness(backends: [rogue.address])
    let echo = try await harness.echo()
    let error = await expectFailure(.unavailable, "BACKEND_UNAVAILABLE") { try await echo.echo(EchoRequest("a")) }
    #expect(error?.processed == false)
    await harness.stop()
    await rogue.kill()
  }

  @Test func callLostWithItsBackendMayBeProcessed() async throws {
    let rogue = try await RogueBackend { _, _ in .init(closes: true) }
    let harness = try await Harness(backends: [rogue.address])
    let echo = try await harness.echo()
    let error = await expectFailure(.unavailable, "BACKEND_LOST") { try await echo.echo(EchoRequest("a")) }
    #expect(error?.processed == true)
    await harness.stop()
    await rogue.kill()
  }

  @Test func streamEndsWhenItsBackendDies() async throws {
    let rogue = try await RogueBackend { id, _ in
      .init(
        frames: (0..<3).map {
          #"{"jsonrpc":"2.0","method":"rpc.message","params":{"id":\#(id),"message":{"index":\#($0)}}}"#
        }, closes: true)
    }
    let harness = try await Harness(backends: [rogue.address])
    let echo = try await harness.echo()
    var count = 0
    let error = await expectFailure(.unavailable, "BACKEND_LOST") {
      for try await _ in echo.expand(ExpandRequest()) { count += 1 }
    }
    #expect(count == 3)
    #expect(error?.processed == true)
    await harness.stop()
    await rogue.kill()
  }

  @Test func streamBeyondItsCreditIsCancelled() async throws {
    let rogue = try await RogueBackend { id, _ in
      .init(
        frames: (0..<200).map {
          #"{"jsonrpc":"2.0","method":"rpc.message","params":{"id":\#(id),"message":{"index":\#($0)}}}"#
        })
    }
    let harness = try await Harness(backends: [rogue.address])
    let echo = try await harness.echo()
    let error = await expectFailure(.internalError, "BACKEND_PROTOCOL_VIOLATION") {
      for try await _ in echo.expand(ExpandRequest()) {}
    }
    #expect(error?.processed == true)
    try await eventually("the backend receives a cancel") { rogue.frames.contains { $0.contains("rpc.cancel") } }
    await harness.stop()
    await rogue.kill()
  }

  @Test func garbageFromABackendEndsItsCallsOnly() async throws {
    let rogue = try await RogueBackend { id, method in
      method.hasSuffix("Fail")
        ? .init(frames: ["{not json"]) : .init(frames: [#"{"jsonrpc":"2.0","id":\#(id),"result":{}}"#])
    }
    let harness = try await Harness(backends: [rogue.address])
    let echo = try await harness.echo()
    _ = await expectFailure(.unavailable, "BACKEND_LOST") { try await echo.fail(FailRequest()) }
    try await eventually("the gateway connects again") {
      (try? await echo.echo(EchoRequest("a"))) != nil
    }
    await harness.stop()
    await rogue.kill()
  }

  @Test func cancellingReachesTheBackend() async throws {
    let rogue = try await RogueBackend { _, _ in .nothing }
    let harness = try await Harness(backends: [rogue.address])
    let echo = try await harness.echo()
    let unary = Task { try await echo.echo(EchoRequest("a")) }
    let stream = Task { for try await _ in echo.expand(ExpandRequest()) {} }
    try await eventually("both calls arrive") {
      rogue.frames.count { $0.contains("EchoService/") } == 2
    }
    unary.cancel()
    stream.cancel()
    try await eventually("both cancels arrive") { rogue.frames.count { $0.contains("rpc.cancel") } == 2 }
    try await eventually("both are counted") { harness.recorder.all.count { $0.code == "CANCELLED" } == 2 }
    await harness.stop()
    await rogue.kill()
  }

  @Test func callsOfADisconnectedCallerAreCancelled() async throws {
    let rogue = try await RogueBackend { _, _ in .nothing }
    let harness = try await Harness(backends: [rogue.address])
    try await RawSocket.reset(
      port: harness.port, token: try await harness.key().secret,
      #"{"jsonrpc":"2.0","id":1,"method":"campanile.rpc.v1.EchoService/Echo"}"#
    ) { try await eventually("the call arrives") { rogue.frames.contains { $0.contains("EchoService/") } } }
    try await eventually("the cancel arrives") { rogue.frames.contains { $0.contains("rpc.cancel") } }
    await harness.stop()
    await rogue.kill()
  }

  @Test func unavailableHandlersDoNotOpenTheBreaker() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let echo = try await harness.echo()
    for _ in 0..<GatewayConfiguration(backends: [], methods: []).breaker.failuresMax * 2 {
      _ = await expectFailure(.unavailable, "FAILED_AS_ASKED") { try await echo.fail(.init(code: 14)) }
    }
    #expect(try await echo.echo(EchoRequest("a read")).payload == "a read")
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func onlyUnprocessedCallsMoveToAnotherAddress() async throws {
    let backend = try await Backend()
    let dead = try await Self.deadAddress()
    let harness = try await Harness(backends: [dead, backend.address])
    let echo = try await harness.echo()
    for index in 0..<100 { #expect(try await echo.echo(EchoRequest("\(index)")).payload == "\(index)") }
    // A call that its handler fails with UNAVAILABLE was processed: the error is passed on without a retry.
    let request = FailRequest(code: 14, key: "once")
    let error = await expectFailure(.unavailable, "FAILED_AS_ASKED") { try await echo.fail(request) }
    #expect(error?.errorMetadata["executionCount"] == "1")
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func restartedBackendIsUsedAgain() async throws {
    let first = try await Backend(port: fixedPort())
    let harness = try await Harness(backends: [first.address])
    let echo = try await harness.echo()
    _ = try await echo.echo(EchoRequest("a"))
    try await eventually("it serves") { harness.gateway.missingBackends.isEmpty }
    await first.server.shutdown()
    try await eventually("it is reported missing") { harness.gateway.missingBackends == ["echo"] }
    let second = try await Backend(port: first.address.port)
    try await eventually("it serves again") { harness.gateway.missingBackends.isEmpty }
    try await eventually("calls pass again") { (try? await echo.echo(EchoRequest("a"))) != nil }
    await harness.stop()
    await second.server.shutdown()
  }

  @Test func drainingGatewayFinishesOpenCallsAndRefusesNewOnes() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let echo = try await harness.echo()
    let open = Task { try await echo.echo(EchoRequest("open", delayMs: 300)) }
    try await eventually("the call is at the backend") { backend.seen.last != nil }
    await harness.server.drain(timeout: .seconds(10))
    #expect(try await open.value.payload == "open")
    let error = await expectFailure(.unavailable, "CONNECT_FAILED") {
      try await echo.echo(EchoRequest("new"), options: CallOptions(timeoutMs: 2_000, waitForReady: false))
    }
    #expect(error?.processed == false)
    #expect(backend.seen.all.count == 1)
    await harness.stop()
    await backend.server.shutdown()
  }
}
