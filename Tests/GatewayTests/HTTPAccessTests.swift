import CampanileRPC
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// Limits and credentials over HTTP.
@Suite struct HTTPAccessTests {
  @Test func responsesReportTheCallersRateLimit() async throws {
    try await withHTTP { http in
      let answer = try await http.get("/v1/echo/a")
      #expect(answer.status == 200)
      #expect(answer.headers["ratelimit-limit"] == "100000")
      // A token is refilled within microseconds.
      #expect(["99999", "100000"].contains(answer.headers["ratelimit-remaining"]))
      #expect(["0", "1"].contains(answer.headers["ratelimit-reset"]))
      // Unauthenticated callers get no rate limit headers.
      let stranger = try await HTTPWire.exchange(port: http.port, "GET", "/v1/echo/a", [:])
      #expect(stranger.status == 401 && stranger.headers["ratelimit-limit"] == nil)
      #expect(http.backend.seen.last?.metadata["campanile-remote-address"] == "127.0.0.1")
    }
  }

  @Test func idempotencyKeyIsNotForwarded() async throws {
    try await withHTTP { http in
      let answer = try await http.post("/v1/echo", #"{"payload":"a"}"#, ["Idempotency-Key": "k"])
      #expect(answer.status == 200)
      // A read-only method stores no reply, and services do not receive the key.
      #expect(http.backend.seen.last?.metadata["idempotency-key"] == nil)
      let bad = try await http.post("/v1/fail", #"{"code":5}"#, ["Idempotency-Key": "a b"])
      #expect(bad.status == 400 && bad.reason == "IDEMPOTENCY_KEY_INVALID")
    }
  }
}
