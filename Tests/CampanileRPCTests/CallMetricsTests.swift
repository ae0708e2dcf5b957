import CampanileAPI
import CampanileBase
import Testing

@testable import CampanileRPC

@Suite struct CallMetricsTests {
  @Test func valuesAreCountedUpToTheirBuckets() {
    let histogram = LogLinearHistogram(MethodMetrics.durationBuckets)
    for ns: Int64 in [-5, 0, 1_000, 1_001, 100_000, 100_001, 100_001, .max] { histogram.add(ns, on: .shared) }
    let filled = [[0, 1, 3], [1, 2, 1], [96, 100, 1], [100, 104, 2], [62_914_560, 67_108_864, 1]] as [[Int64]]
    #expect(histogram.reading.filled == filled)
    #expect(histogram.reading.cumulated.first == 5 && histogram.reading.cumulated.last == 8)
  }

  @Test func methodIsCountedOnceForAllRecorders() throws {
    let calls = CallMetrics()
    for _ in 0..<2 {
      let recorder = calls.recorder(for: EchoServiceMethods.echo)
      recorder.callStarted(on: .shared)
      recorder.callFinished(code: nil, durationNs: 2_000, on: .shared)
    }
    let other = calls.recorder(for: nil)
    other.callStarted(on: .shared)
    other.callFinished(code: .notFound, durationNs: 0, on: .shared)
    calls.recorder(for: EchoServiceMethods.fail).callStarted(on: .shared)
    #expect(calls.all.count == 3 && calls.openCalls == 1)
    let echo = try #require(calls.all.first { $0.method == EchoServiceMethods.echo })
    #expect(echo.started == 2 && echo.succeeded == 2 && echo.failures.isEmpty)
    #expect(echo.durations.reading.filled == [[1, 2, 2]] && echo.durations.reading.sum == 4_000)
    let unknown = try #require(calls.all.first { $0.method == nil })
    #expect(unknown.started == 1 && unknown.succeeded == 0 && unknown.failures == [.notFound: 1])
    #expect(unknown.durations.reading.filled == [[0, 1, 1]])
  }

  @Test func connectionsAreCounted() {
    let calls = CallMetrics()
    calls.connectionOpened()
    calls.connectionOpened()
    calls.connectionClosed()
    #expect(calls.openConnections == 1)
  }
}
