import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Gateway

/// The operator's reports, and the limits that the operator sets.
@Suite struct OperationTests {
  private func object(_ gateway: Gateway, _ path: String, limit: Int? = nil) async throws -> [String: Any] {
    let page = try #require(try await gateway.operatorPage(path: path, limit: limit))
    return try #require(try JSONSerialization.jsonObject(with: Data(page)) as? [String: Any])
  }

  @Test func operatorSeesOpenCalls() async throws {
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address])
    let echo = try await harness.echo()
    let tasks = [
      Task { _ = try await echo.echo(EchoRequest("slow", delayMs: 60_000)) },
      Task { for try await _ in echo.expand(.endless) {} },
    ]
    try await eventually("both have started") { backend.seen.all.count == 2 }
    for _ in 0..<5 { _ = try await echo.echo(EchoRequest("a")) }
    _ = await expectFailure(.invalidArgument, "OUT_OF_RANGE") { try await echo.echo(EchoRequest("a", delayMs: -1)) }
    let calls = await harness.gateway.openCallRecords(10)
    #expect(Set(calls.map(\.method)) == [EchoServiceMethods.echo.path, EchoServiceMethods.expand.path])
    #expect(calls.allSatisfy { $0.principal == "user/ada" && $0.remoteAddress == "127.0.0.1" && $0.service == "echo" })
    #expect(calls.allSatisfy { $0.address == "\(backend.address)" })
    #expect(await harness.gateway.openCallRecords(1).count == 1)
    let backends = await harness.gateway.backendStatuses()
    #expect(backends.map(\.openCalls) == [1] && backends.map(\.openStreams) == [1])
    #expect(backends[0].isServing && backends[0].breaker == "closed")
    let summary = await harness.gateway.summary()
    // Methods without calls are omitted.
    #expect(summary.methods.map(\.method) == summary.methods.map(\.method).sorted())
    #expect(!summary.methods.contains { $0.method == EchoServiceMethods.collect.path })
    let method = try #require(summary.methods.first { $0.method == EchoServiceMethods.echo.path })
    #expect(method.succeeded == 5 && method.started == 7 && method.failures == ["INVALID_ARGUMENT": 1])
    #expect(method.latency.reduce(0) { $0 + $1[2] } == 6)
    #expect(harness.gateway.limitUsage(10).principals.first { $0.name == "user/ada" }?.openCalls == 1)
    // Every report is available as JSON, and no other path exists.
    #expect((try await object(harness.gateway, "/admin/calls", limit: 1)["calls"] as? [Any])?.count == 1)
    #expect((try await object(harness.gateway, "/admin/backends")["backends"] as? [Any])?.count == 1)
    let routes = try #require(try await object(harness.gateway, "/admin/routes")["routes"] as? [[String: Any]])
    let route = try #require(routes.first { $0["method"] as? String == EchoServiceMethods.echo.path })
    #expect(route["service"] as? String == "echo" && route["scope"] as? String == "echo:read")
    #expect(routes.contains { $0["scope"] as? String == "admin" && $0["service"] == nil })
    for path in ["/admin/limits", "/admin/summary"] { _ = try await object(harness.gateway, path) }
    #expect(try await harness.gateway.operatorPage(path: "/admin", limit: nil) == nil)
    for task in tasks { task.cancel() }
    try await eventually("all have ended") { await harness.gateway.openCallRecords(10).isEmpty }
    await harness.stop()
    await backend.server.shutdown()
  }

  // MARK: limits that change

  @Test func bucketsFollowAChangedRate() throws {
    let setting = CurrentRate(RateLimit(perSecond: 1, burst: 1))
    let bucket = SharedBucket(setting)
    #expect(bucket.take(nowNs: 0) == 0 && bucket.take(nowNs: 0) > 0)
    setting.set(RateLimit(perSecond: 10, burst: 20))
    #expect(bucket.take(nowNs: 0) == 0 && bucket.limit?.burst == 20)
    setting.set(nil)
    for _ in 0..<100 { #expect(bucket.take(nowNs: 0) == 0) }
    #expect(bucket.status(nowNs: 0) == nil && bucket.limit == nil && bucket.waitNs(nowNs: 0) == 0)
    let count = CurrentCount(0)
    let gauge = SharedGauge(count)
    #expect(!gauge.enter())
    count.set(1)
    #expect(gauge.enter() && !gauge.enter() && gauge.countMax == 1)
  }

  // MARK: memory

  @Test func memoryPressureHasHysteresis() {
    var pressure = MemoryPressure()
    var levels: [MemoryPressure.Level] = []
    for bytes in [0, 84, 85, 84, 80, 79, 99, 100, 96, 95, 94, 81, 100, 79] {
      pressure.update(residentBytes: bytes, bytesMax: 100)
      levels.append(pressure.level)
    }
    #expect(
      levels == [
        .none, .none, .tight, .tight, .tight, .none, .tight, .full, .full, .full, .tight, .tight, .full, .none,
      ])
    pressure.update(residentBytes: .max, bytesMax: 0)
    #expect(pressure.level == .none)
  }

  @Test func withoutMemoryCallsAreRefused() async throws {
    let resident = SharedNumber(0)
    let backend = try await Backend()
    let harness = try await Harness(backends: [backend.address]) { configuration in
      configuration.memoryBytesMax = 1000
      configuration.memoryProbe = MemoryProbe(residentBytes: { resident.value })
    }
    let echo = try await harness.echo()
    resident.value = 900
    harness.gateway.memory.look()
    // Bulk calls must wait; other calls are served.
    _ = await expectFailure(.resourceExhausted, "BULK_SHED") { for try await _ in echo.expand(.endless) {} }
    _ = try await echo.echo(EchoRequest("a"))
    resident.value = 1000
    harness.gateway.memory.look()
    let error = await expectFailure(.resourceExhausted, "MEMORY_EXHAUSTED") { try await echo.echo(EchoRequest("a")) }
    #expect(error?.processed == false && error?.retryAfterMs == 1_000)
    // The operator's own programs are served, because they are needed for a diagnosis.
    _ = try await EchoServiceClient(try harness.client(token: internalToken)).echo(EchoRequest("b"))
    #expect(harness.gateway.limitUsage(1).memoryPressure == "full")
    resident.value = 100
    harness.gateway.memory.look()
    _ = try await echo.echo(EchoRequest("c"))
    #expect(backend.seen.all.map(\.method.name) == ["Echo", "Echo", "Echo"])
    await harness.stop()
    await backend.server.shutdown()
  }

  // MARK: proxies

  @Test(
    arguments: [
      // (peer, values of the header, caller)
      ("10.0.0.1", ["203.0.113.9"], "203.0.113.9"), ("10.0.0.1", [], nil), ("203.0.113.7", ["198.51.100.1"], nil),
      ("10.0.0.1", ["6.6.6.6, 203.0.113.9"], "203.0.113.9"),
      ("10.0.0.1", ["6.6.6.6", "203.0.113.9, 10.9.9.9"], "203.0.113.9"),
      ("10.0.0.1", ["10.1.1.1, 10.2.2.2"], "10.1.1.1"), ("10.0.0.1", ["203.0.113.9:4711"], "203.0.113.9"),
      ("10.0.0.1", ["[2001:db8::1]:4711"], "2001:db8:0:0:0:0:0:1"),
      ("10.0.0.1", ["2001:db8::1"], "2001:db8:0:0:0:0:0:1"),
      ("::ffff:10.0.0.1", ["::ffff:203.0.113.9"], "203.0.113.9"), ("fd00::7", ["203.0.113.9"], "203.0.113.9"),
      // An entry that is not an address hides the entries before it.
      ("10.0.0.1", ["203.0.113.9, unknown, 10.2.2.2"], "10.2.2.2"), ("10.0.0.1", ["unknown"], nil),
      ("10.0.0.1", [""], nil),
      ("10.0.0.1", [" , ,"], nil), ("10.0.0.1", ["\"203.0.113.9\""], "203.0.113.9"), ("", ["203.0.113.9"], nil),
      ("10.0.0.1", ["203.0.113.9\u{0}"], nil), ("10.0.0.1", [String(repeating: "10.1.1.1,", count: 5000)], "10.1.1.1"),
    ] as [(String, [String], String?)])
  func trustedProxiesNameTheCaller(peer: String, values: [String], caller: String?) throws {
    let proxies = try #require(TrustedProxies(["10.0.0.0/8", "fd00::/8"]))
    #expect(proxies.client(peer: peer, values: values) == caller)
    #expect(TrustedProxies().client(peer: peer, values: values) == nil)
  }

  @Test(
    arguments: [
      (["for=203.0.113.9;proto=https;by=10.0.0.1"], "203.0.113.9"),
      (["For=\"[2001:db8::1]:80\""], "2001:db8:0:0:0:0:0:1"),
      (["for=6.6.6.6, for=203.0.113.9, for=10.2.2.2"], "203.0.113.9"), (["proto=https"], nil), (["for=_hidden"], nil),
      (["203.0.113.9"], nil), (["for="], nil),
    ] as [([String], String?)])
  func forwardedHeaderIsParsed(values: [String], caller: String?) throws {
    let proxies = try #require(TrustedProxies(["10.0.0.0/8"], header: .forwarded))
    #expect(proxies.client(peer: "10.0.0.1", values: values) == caller)
  }

  @Test func invalidBlocksAreRefused() {
    for text in ["", "10.0.0.0/33", "proxy.example", "10.0.0"] { #expect(TrustedProxies([text]) == nil) }
  }
}

/// A number that the test changes.
private final class SharedNumber: Sendable {
  private let number: Mutex<Int>
  init(_ value: Int) { number = Mutex(value) }
  var value: Int {
    get { number.withLock { $0 } }
    set { number.withLock { $0 = newValue } }
  }
}
