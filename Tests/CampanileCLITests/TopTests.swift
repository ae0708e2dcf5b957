import CampanileBase
import Testing

@testable import CampanileCLI

/// The frames of `campanile top` from two samples of a gateway.
@Suite struct TopTests {
  private func summary(_ uptimeMs: Int64, _ methods: [GatewaySummary.Method]) -> GatewaySummary {
    GatewaySummary(uptimeMs: uptimeMs, residentBytes: 50 << 20, openCalls: 3, openStreams: 2, methods: methods)
  }

  private let before = GatewaySummary.Method(
    method: "a.B/C", started: 100, succeeded: 90, failures: ["NOT_FOUND": 5], latency: [[10, 20, 95]])
  private let after = GatewaySummary.Method(
    method: "a.B/C", started: 312, succeeded: 290, failures: ["NOT_FOUND": 7, "UNAVAILABLE": 8],
    latency: [[10, 20, 195], [100, 200, 108], [400, 500, 2]])

  @Test func ratesAndQuantilesCoverInterval() throws {
    let frame = TopFrame(from: summary(1_000, [before]), to: summary(3_000, [after]), intervalMs: 2_000)
    let method = try #require(frame.methods.first)
    #expect(method.rate == 105 && method.errorRate == 5 && method.mostError == "UNAVAILABLE")
    #expect(method.total == 312 && method.open == 7)
    // Of 210 calls, the 105th is the fifth of 108 in the bucket from 100 to 200 µs; the 207.9th is in the same bucket.
    #expect(abs((method.p50Ms ?? 0) - 0.1046) < 0.0002 && abs((method.p99Ms ?? 0) - 0.1999) < 0.0002)
    #expect(frame.rate == 105 && frame.errorRate == 5 && frame.openStreams == 2)
  }

  @Test func firstFrameCoversTimeSinceStart() throws {
    for earlier in [nil, summary(9_000, [after])] {
      // A restarted gateway counts from 0.
      let frame = TopFrame(from: earlier, to: summary(1_000, [before]), intervalMs: 5)
      #expect(frame.methods.first?.rate == 95 && frame.intervalMs == 1_000)
    }
    let idle = TopFrame(from: summary(1_000, [before]), to: summary(2_000, [before]), intervalMs: 1_000)
    let method = try #require(idle.methods.first)
    #expect(method.rate == 0 && method.p50Ms == nil && method.p99Ms == nil && method.mostError == nil)
  }

  @Test func quantilesAreWithinBuckets() {
    #expect(TopFrame.quantile(0.5, []) == nil)
    #expect(TopFrame.quantile(0.5, [[0, 1, 1]]) == 0.5)
    #expect(TopFrame.quantile(1, [[0, 1, 1], [8, 9, 1]]) == 9)
    #expect(TopFrame.quantile(0.5, [[8, 9, 1], [0, 1, 1]]) == 1)
  }

  @Test func invalidNumbersAreIgnored() {
    let odd = GatewaySummary.Method(method: "x", started: 1, succeeded: 2, latency: [[1], [1, 2, 3, 4], []])
    let frame = TopFrame(from: nil, to: summary(0, [odd]), intervalMs: 0)
    #expect(frame.methods.first?.p50Ms == nil && frame.methods.first?.open == 0 && frame.intervalMs == 1)
  }

  @Test func methodsAreSorted() {
    let methods = (0..<4).map { index in
      GatewaySummary.Method(
        method: "m\(index)", started: 10 - index, succeeded: index, failures: index == 1 ? ["X": 1] : [:],
        latency: [[Int64(9 - index), Int64(10 - index), 1]])
    }
    func names(_ order: TopFrame.Order) -> [String] {
      TopFrame(from: nil, to: summary(1_000, methods), intervalMs: 1, order: order).methods.map(\.method)
    }
    #expect(names(.name) == ["m0", "m1", "m2", "m3"])
    #expect(names(.rate) == ["m3", "m1", "m2", "m0"])
    #expect(names(.errors).first == "m1")
    #expect(names(.p99) == ["m0", "m1", "m2", "m3"])
    #expect(names(.total) == ["m0", "m1", "m2", "m3"])
  }

  @Test func screenFitsTerminal() {
    let backend = BackendStatus(
      name: "notifications", isServing: false, breaker: "open", openCalls: 1, openStreams: 2,
      addresses: [
        .init(
          address: "127.0.0.1:1", health: "serving", isConnected: true, ejectedForMs: 5, isLeaving: false, openCalls: 1)
      ])
    let methods = (0..<50).map { index in
      GatewaySummary.Method(
        method: "campanile.notifications.v1.NotificationsService/Method\u{1b}[2J\(index)", started: index,
        succeeded: index)
    }
    let all = GatewaySummary(uptimeMs: 90_061_000, backends: [backend], methods: methods)
    let frame = TopFrame(from: nil, to: all, intervalMs: 1)
    for (width, height) in [(40, 10), (80, 24), (200, 60)] {
      let lines = TopScreen(width: width, height: height).lines(frame)
      #expect(lines.count <= height && lines.allSatisfy { $0.count <= width && !$0.contains("\u{1b}") })
    }
    let lines = TopScreen(width: 160, height: 12).lines(frame)
    #expect(
      lines[0].hasPrefix("up 1d 01:01:01") && lines[1].contains("NOT SERVING") && lines[1].contains("circuit open"))
    #expect(lines[1].contains("ejected: 127.0.0.1:1") && lines.last == "… and 43 more")
  }
}
