import CampanileRPC
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// Limits on the connections of the gateway's HTTP port.
@Suite(.timeLimit(.minutes(1))) struct ConnectionLimitTests {
  /// Connects and waits until the gateway has counted the connection.
  private func connect(_ http: HTTPHarness, count: Int) async throws -> HTTPWire {
    let wire = try await HTTPWire(port: http.port)
    while http.frontend.limiter.openCount < count { try await Task.sleep(for: .milliseconds(2)) }
    return wire
  }

  @Test func newConnectionReplacesTheLongestIdleAnonymousOne() async throws {
    try await withHTTP({ $0.connectionsMax = 3 }) { http in
      var idle: [HTTPWire] = []
      for count in 1...3 { idle.append(try await connect(http, count: count)) }
      #expect(try await http.get("/v1/echo/x").status == 200)
      // The connection that has been idle longest is closed without a response.
      #expect(try await idle[0].read() == "")
      for wire in idle { await wire.close() }
    }
  }

  @Test func connectionsPerAddressAreLimited() async throws {
    try await withHTTP({ $0.connectionsPerAddressMax = 2 }) { http in
      let first = try await connect(http, count: 1)
      let second = try await connect(http, count: 2)
      let text = try await HTTPWire(port: http.port).read()
      #expect(text.hasPrefix("HTTP/1.1 503") && text.contains("TOO_MANY_CONNECTIONS"))
      #expect(text.contains("max-connections-per-address"))
      await first.close()
      while http.frontend.limiter.openCount > 1 { try await Task.sleep(for: .milliseconds(2)) }
      #expect(try await http.get("/v1/echo/x").status == 200)
      await second.close()
    }
  }

  @Test func trustedProxiesAreExemptFromTheAddressLimit() async throws {
    try await withHTTP({
      $0.connectionsPerAddressMax = 1
      $0.trustedProxies = TrustedProxies(["127.0.0.1"]) ?? $0.trustedProxies
    }) { http in
      let first = try await connect(http, count: 1)
      let second = try await connect(http, count: 2)
      #expect(try await http.get("/v1/echo/x").status == 200)
      for wire in [first, second] { await wire.close() }
    }
  }

  @Test func authenticatedConnectionIsNotReplaced() async throws {
    try await withHTTP({ $0.connectionsMax = 2 }) { http in
      let known = try await connect(http, count: 1)
      let request = "GET /v1/echo/x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(http.secret)\r\n\r\n"
      try await known.send(request)
      #expect(try await known.read { $0.contains("payload") }.hasPrefix("HTTP/1.1 200"))
      let stranger = try await connect(http, count: 2)
      #expect(try await http.get("/v1/echo/x").status == 200)
      #expect(try await stranger.read() == "")
      try await known.send(request)
      #expect(try await known.read { $0.contains("payload") }.hasPrefix("HTTP/1.1 200"))
      await known.close()
    }
  }
}
