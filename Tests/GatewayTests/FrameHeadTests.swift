import CampanileAPI
import CampanileRPC
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// Long frames are judged by their heads: scope and rate are checked before the rest of a frame is read.
@Suite struct FrameHeadTests {
  private static func frame(_ text: String) -> [UInt8] {
    withUnsafeBytes(of: UInt32(text.utf8.count).bigEndian) { Array($0) } + Array(text.utf8)
  }

  /// The first 70,000 bytes of a call of `method` with a payload of 1 MiB. The key is in its metadata or in a hello.
  private static func unfinished(_ method: MethodDescriptor, key: String?, inMetadata: Bool) -> [UInt8] {
    let metadata = inMetadata ? #","metadata":{"authorization":"Bearer \#(key ?? "")"}"# : ""
    let payload = String(repeating: "x", count: 1 << 20)
    let call = #"{"jsonrpc":"2.0","id":7,"method":"\#(method.path)"\#(metadata),"params":{"payload":"\#(payload)"}}"#
    let hello = #"{"jsonrpc":"2.0","id":0,"method":"rpc.hello","params":{"token":"\#(key ?? "")"}}"#
    return (inMetadata ? [] : frame(hello)) + frame(call).prefix(70_000)
  }

  /// Returns the response to the beginning of a long call, the rest of which is never sent.
  private static func answer(
    _ harness: Harness, _ method: MethodDescriptor, key: String, inMetadata: Bool = false
  ) async throws -> String {
    let wire = try await HTTPWire(port: harness.port)
    try await wire.send(unfinished(method, key: key, inMetadata: inMetadata))
    let text = try await wire.read { $0.contains(#""id":7"#) || $0.contains(#""id":null"#) }
    await wire.close()
    return text
  }

  @Test(arguments: [false, true]) func aCallWithoutItsScopeIsRefusedAfterItsHead(inMetadata: Bool) async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let reader = try await harness.key("user/reader", scopes: ["echo:read"]).secret
    let text = try await Self.answer(harness, EchoServiceMethods.fail, key: reader, inMetadata: inMetadata)
    #expect(text.contains(#""id":7"#) && text.contains("SCOPE_MISSING") && text.contains(#""scope":"echo:write""#))
    #expect(harness.recorder.all.contains(.init(method: "Fail", code: "PERMISSION_DENIED")))
    #expect(harness.gateway.refusedCalls.contains { $0.key == "SCOPE_MISSING" && $0.value == 1 })
    #expect(backend.seen.all.isEmpty)
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func aCallBeyondItsRateIsRefusedAfterItsHead() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address]) {
      $0.limits.principalRate = RateLimit(perSecond: 1, burst: 1)
    }
    let key = try await harness.key().secret
    let nowNs = MonotonicClock.nowNs()
    let share = harness.gateway.keys.ring.shares.share(of: "user/ada", nowNs: nowNs)
    // The next token comes in ten minutes, so a slow machine does not matter.
    _ = share.rate.take(nowNs: nowNs + 600_000_000_000)
    let text = try await Self.answer(harness, EchoServiceMethods.echo, key: key)
    #expect(text.contains(#""id":7"#) && text.contains("RATE_LIMITED"), "\(text)")
    await harness.stop()
    await backend.server.shutdown()
  }

  @Test func acceptedLongCallTakesOneToken() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address]) {
      $0.limits.principalRate = RateLimit(perSecond: 1, burst: 10_000)
    }
    let echo = EchoServiceClient(try harness.client(token: try await harness.key().secret))
    _ = try await echo.echo(EchoRequest("a"))
    let share = harness.gateway.keys.ring.shares.share(of: "user/ada", nowNs: 0)
    // The bucket is not full again before the call, even on a slow machine.
    for _ in 0..<600 { _ = share.rate.take(nowNs: MonotonicClock.nowNs()) }
    let payload = String(repeating: "x", count: 1 << 20)
    let count = try await HTTPHeadTests.tokens(share.rate) {
      let response = try await echo.echo(EchoRequest(payload))
      #expect(response.payload == payload)
    }
    #expect(count == 1)
    await harness.stop()
    await backend.server.shutdown()
  }
}
