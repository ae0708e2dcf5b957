import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import NIOCore
import NIOPosix
import TestSupport
import Testing

@testable import Gateway

/// Remote addresses, public methods, sessions and limits, through a gateway.
@Suite struct AdmissionTests {
  /// Runs `body` with a gateway whose echo service is named `attendance` and has the public method `Fail`.
  private func withGateway(
    _ configure: @escaping (inout GatewayConfiguration) -> Void = { _ in },
    _ body: (Harness, Backend) async throws -> Void
  ) async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address]) { configuration in
      configuration.methods = EchoServiceMethods.all.map { method in
        var method = method
        if method.name == "Fail" { method.scope = "public" }
        return method
      }
      configuration.backends[0].name = "attendance"
      configure(&configuration)
    }
    do { try await body(harness, backend) } catch { Issue.record(error) }
    await harness.stop()
    await backend.server.shutdown()
  }

  private func fail() -> FailRequest {
    FailRequest(code: 5)
  }

  // MARK: addresses

  @Test func backendsReceiveTheRemoteAddress() async throws {
    try await withGateway { harness, backend in
      let secret = try await harness.key(scopes: ["attendance"]).secret
      let byConnection = EchoServiceClient(try harness.client(token: secret))
      _ = try await byConnection.echo(EchoRequest("a"))
      #expect(backend.seen.last?.metadata.values("campanile-remote-address") == ["127.0.0.1"])
      #expect(backend.seen.last?.principal?.name == "user/ada")
      // An address that an outsider claims is dropped.
      let forged = CallOptions(
        timeoutMs: 5_000, metadata: ["authorization": "Bearer \(secret)", "campanile-remote-address": "192.0.2.1"])
      _ = try await EchoServiceClient(try harness.client()).echo(EchoRequest("b"), options: forged)
      #expect(backend.seen.last?.metadata.values("campanile-remote-address") == ["127.0.0.1"])
    }
  }

  @Test func operatorMayNameARemoteAddress() async throws {
    try await withGateway { harness, backend in
      let echo = EchoServiceClient(try harness.client(token: internalToken))
      _ = try await echo.echo(EchoRequest("a"))
      #expect(backend.seen.last?.metadata["campanile-remote-address"] == nil)
      let told: Metadata = ["campanile-principal": "user/ada", "campanile-remote-address": "2001:db8::1"]
      _ = try await echo.echo(EchoRequest("a"), options: CallOptions(timeoutMs: 5_000, metadata: told))
      #expect(backend.seen.last?.metadata.values("campanile-remote-address") == ["2001:db8::1"])
    }
  }

  @Test(arguments: [
    ("[IPv4]127.0.0.1/127.0.0.1:5000", "127.0.0.1"), ("[IPv4]192.0.2.1:80", ""), ("[IPv6]::1/::1:5000", "::1"),
    ("[IPv6]::ffff:192.0.2.1/::ffff:192.0.2.1:5000", "192.0.2.1"), ("[UDS]/run/x:1", ""), ("", ""),
    ("[IPv6]fe80::1%eth0/fe80::1%eth0:9", "fe80::1%eth0"), (#"[IPv4]x/1"2:3"#, ""),
  ])
  func remoteHostsAreReadFromSocketAddresses(address: String, host: String) {
    let loops = CallLoops()
    let loop = sharedLoop
    let found = try? loop.submit {
      let transport = CallTransport(loops: loops, loop: loop, limits: WireLimits())
      transport.remoteAddress = address
      return transport.remoteHost
    }.wait()
    #expect(found == host)
  }

  // MARK: strangers and members

  @Test func publicMethodsNeedNoCredentialButRefuseAWrongOne() async throws {
    try await withGateway { harness, backend in
      let stranger = EchoServiceClient(try harness.client())
      _ = await expectFailure(.notFound, "FAILED_AS_ASKED") { try await stranger.fail(fail()) }
      #expect(backend.seen.all.count == 1 && backend.seen.last?.principal == nil)
      #expect(backend.seen.last?.metadata["campanile-remote-address"] == "127.0.0.1")
      _ = await expectFailure(.unauthenticated, "CREDENTIAL_MISSING") { try await stranger.echo(EchoRequest("a")) }
      let wrong = CallOptions(timeoutMs: 5_000, metadata: ["authorization": "Bearer nonsense"])
      _ = await expectFailure(.unauthenticated, "CREDENTIAL_INVALID") {
        try await stranger.fail(fail(), options: wrong)
      }
      // A key without a scope for the service may still call its public methods.
      let other = EchoServiceClient(try harness.client(token: try await harness.key(scopes: ["sync:read"]).secret))
      _ = await expectFailure(.notFound, "FAILED_AS_ASKED") { try await other.fail(fail()) }
      #expect(backend.seen.all.count == 2)
    }
  }

  @Test func sessionsAreForwardedToTheirService() async throws {
    try await withGateway { harness, backend in
      let echo = EchoServiceClient(try harness.client())
      func session(_ values: String...) -> CallOptions {
        var options = CallOptions(timeoutMs: 5_000)
        for value in values { options.metadata.add(value, for: "attendance-session") }
        return options
      }
      let token = "cas_" + String(repeating: "a", count: 43)
      _ = try await echo.echo(EchoRequest("a"), options: session(token))
      #expect(backend.seen.last?.metadata["attendance-session"] == token && backend.seen.last?.principal == nil)
      for wrong in [session("cas_short"), session(token, token), session(""), session("x" + token.dropFirst())] {
        _ = await expectFailure(.unauthenticated, "CREDENTIAL_INVALID") {
          try await echo.echo(EchoRequest("a"), options: wrong)
        }
      }
      #expect(backend.seen.all.count == 1)
      // A session is no credential for methods that no table describes.
      let unknown = try await RawProbe.call(
        try harness.client(), "campanile.rpc.v1.EchoService/New", #"{}"#)
      #expect(unknown.error?.reason == "CREDENTIAL_MISSING")
    }
  }

  @Test func otherServicesAcceptNoSessions() async throws {
    try await withGateway({ $0.backends[0].name = "echo" }) { harness, backend in
      let token = "cas_" + String(repeating: "a", count: 43)
      let options = CallOptions(timeoutMs: 5_000, metadata: ["attendance-session": token])
      _ = await expectFailure(.unauthenticated, "CREDENTIAL_MISSING") {
        try await EchoServiceClient(try harness.client()).echo(EchoRequest("a"), options: options)
      }
      #expect(backend.seen.all.isEmpty)
    }
  }

  // MARK: limits

  /// Calls until a call is refused, which must happen because the calls are faster than the rate.
  ///
  /// - Returns: The refusal, and the number of successful calls before it.
  private func untilRefused(_ call: (Int) async throws -> Void) async -> (error: RPCError?, count: Int) {
    for count in 0..<1_000 {
      do { try await call(count) } catch let error as RPCError {
        if error.code == .resourceExhausted { return (error, count) }
      } catch { Issue.record(error) }
    }
    return (nil, 1_000)
  }

  @Test func aPrincipalHasOneRateForAllItsKeys() async throws {
    try await withGateway({ $0.limits.principalRate = RateLimit(perSecond: 1, burst: 3) }) { harness, backend in
      let keys = [
        EchoServiceClient(try harness.client(token: try await harness.key().secret)),
        EchoServiceClient(try harness.client(token: try await harness.key().secret)),
      ]
      let other = EchoServiceClient(try harness.client(token: try await harness.key("user/grace").secret))
      let refused = await untilRefused { count in _ = try await keys[count % 2].echo(EchoRequest("a")) }
      #expect(refused.count >= 3)
      #expect(refused.error?.reason == "RATE_LIMITED" && refused.error?.processed == false)
      #expect((1...1_000).contains(refused.error?.retryAfterMs ?? 0))
      #expect(refused.error?.errorMetadata == ["limit": "1", "burst": "3"])
      _ = try await other.echo(EchoRequest("b"))
      #expect(backend.seen.all.count == refused.count + 1)
      // The operator's own programs are not counted.
      let operatorClient = EchoServiceClient(try harness.client(token: internalToken))
      for _ in 0..<20 { _ = try await operatorClient.echo(EchoRequest("c")) }
    }
  }

  @Test func strangersHaveASeparateRate() async throws {
    try await withGateway({ $0.limits.anonymousRate = RateLimit(perSecond: 1, burst: 2) }) { harness, _ in
      let stranger = EchoServiceClient(try harness.client())
      let refused = await untilRefused { _ in _ = try await stranger.fail(fail()) }
      #expect(refused.error?.reason == "RATE_LIMITED" && refused.count >= 2)
      // Callers with a credential are not affected by strangers at the same address.
      let known = try await harness.echo()
      for _ in 0..<10 { _ = try await known.echo(EchoRequest("a")) }
    }
  }

  @Test func methodRatesAreEnforced() async throws {
    try await withGateway({ configuration in
      guard let rate = RateLimit(perSecond: 1, burst: 1) else { return }
      configuration.limits.methodRates = [EchoServiceMethods.echo.path: rate]
    }) { harness, _ in
      let first = try await harness.echo()
      let second = EchoServiceClient(try harness.client(token: try await harness.key("user/grace").secret))
      let refused = await untilRefused { count in
        _ = try await (count % 2 == 0 ? first : second).echo(EchoRequest("a"))
      }
      #expect(refused.error?.reason == "RATE_LIMITED")
      _ = await expectFailure(.notFound, "FAILED_AS_ASKED") { try await first.fail(fail()) }
    }
  }

  @Test func addressRatesAreEnforced() async throws {
    try await withGateway({ $0.limits.addressRate = RateLimit(perSecond: 1, burst: 2) }) { harness, _ in
      let known = try await harness.echo()
      let refused = await untilRefused { _ in _ = try await known.echo(EchoRequest("a")) }
      #expect(refused.error?.reason == "RATE_LIMITED" && refused.count >= 2)
    }
  }

  @Test func openCallsAndStreamsAreLimited() async throws {
    try await withGateway({ configuration in
      configuration.limits.principalCallsMax = 1
      configuration.limits.principalStreamsMax = 1
    }) { harness, backend in
      let echo = try await harness.echo()
      let slow = Task { try await echo.echo(EchoRequest("slow", delayMs: 60_000)) }
      let stream = Task { for try await _ in echo.expand(.endless) {} }
      try await eventually("both have started") { backend.seen.all.count == 2 }
      let refused = await expectFailure(.resourceExhausted, "CALLS_EXHAUSTED") { try await echo.echo(EchoRequest("a")) }
      #expect(refused?.processed == false && refused?.retryAfterMs != nil)
      _ = await expectFailure(.resourceExhausted, "STREAMS_EXHAUSTED") {
        for try await _ in echo.expand(.endless) {}
      }
      // Another caller has separate limits.
      let other = EchoServiceClient(try harness.client(token: try await harness.key("user/grace").secret))
      _ = try await other.echo(EchoRequest("b"))
      slow.cancel()
      stream.cancel()
      // Cancelled calls return their permits.
      try await eventually("the permits are free") {
        do {
          _ = try await echo.echo(EchoRequest("c"))
          return true
        } catch let error as RPCError { return error.reason != "CALLS_EXHAUSTED" }
      }
    }
  }

  @Test func bulkIsShedFirst() async throws {
    try await withGateway({ configuration in
      configuration.limits.backendCallsMax = 2
      configuration.methods = configuration.methods.map { method in
        var method = method
        if method.name == "Fail" { method.isBulk = true }
        return method
      }
    }) { harness, backend in
      // A single connection, so that the guard of one event loop sees all calls.
      let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      var own = ClientConfiguration(host: "127.0.0.1", port: harness.port, token: try await harness.key().secret)
      own.retry.attemptsMax = 1
      let client = try RPCClient(own, group: group)
      let echo = EchoServiceClient(client)
      let first = Task { try await echo.echo(EchoRequest("slow", delayMs: 60_000)) }
      try await eventually("it has started") { backend.seen.all.count == 1 }
      for _ in 0..<2 {
        let shed = await expectFailure(.resourceExhausted, "BULK_SHED") { try await echo.fail(fail()) }
        #expect(shed?.processed == false && shed?.retryAfterMs == 1_000)
      }
      _ = await expectFailure(.resourceExhausted, "BULK_SHED") { for try await _ in echo.expand(.endless) {} }
      _ = try await echo.echo(EchoRequest("interactive"))
      let second = Task { try await echo.echo(EchoRequest("slow", delayMs: 60_000)) }
      try await eventually("both have started") { backend.seen.all.count == 3 }
      _ = await expectFailure(.resourceExhausted, "BACKEND_OVERLOADED") { try await echo.echo(EchoRequest("a")) }
      first.cancel()
      second.cancel()
      try await eventually("bulk calls are accepted again") {
        do { return try await echo.fail(fail()) == FailResponse() } catch let error as RPCError {
          return error.reason == "FAILED_AS_ASKED"
        }
      }
      await client.close()
      try await group.shutdownGracefully()
    }
  }
}
