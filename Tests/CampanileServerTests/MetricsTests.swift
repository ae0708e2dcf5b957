import CampanileBase
import CampanileRPC
import CoreMetrics
import Metrics
import Synchronization
import Testing

@testable import CampanileServer

@Suite struct MetricsTests {
  let registry = MetricsRegistry(maximumSeries: 5, maximumFamilies: 12)

  func exposed() async throws -> PrometheusChecker { try PrometheusChecker(await registry.exposition()) }

  @Test func everyKindIsExported() async throws {
    Counter(label: "c_total", dimensions: [("a", "b")], factory: registry).increment(by: 3)
    FloatingPointCounter(label: "f_total", factory: registry).increment(by: 1.5)
    Gauge(label: "g", factory: registry).record(-2.25)
    let meter = Meter(label: "m", factory: registry)
    meter.increment(by: 5)
    meter.decrement(by: 2)
    let timer = Timer(label: "t_seconds", factory: registry)
    for ns: Int64 in [50_000, 100_000, 100_001, 3_000_000_000, 60_000_000_000] { timer.recordNanoseconds(ns) }
    Recorder(label: "r", factory: registry).record(17)
    registry.describe("c_total", "back\\slash\nline")
    let text = try await exposed()
    #expect(text.value("c_total", ["a": "b"]) == 3)
    #expect(text.types["c_total"] == "counter")
    #expect(text.help["c_total"] == #"back\\slash\nline"#)
    #expect(text.value("f_total") == 1.5)
    #expect(text.value("g") == -2.25)
    #expect(text.value("m") == 3)
    #expect(text.value("t_seconds_bucket", ["le": "0.0001"]) == 2)
    #expect(text.value("t_seconds_bucket", ["le": "0.00025"]) == 3)
    #expect(text.value("t_seconds_bucket", ["le": "10"]) == 4)
    #expect(text.value("t_seconds_bucket", ["le": "+Inf"]) == 5)
    #expect(text.value("t_seconds_count") == 5)
    #expect(text.value("r_bucket", ["le": "16"]) == 0)
    #expect(text.value("r_bucket", ["le": "64"]) == 1)
  }

  @Test func collectorsRunBeforeEachExposition() async throws {
    let gauge = Gauge(label: "g", factory: registry)
    let count = Atomic(0)
    registry.addCollector { gauge.record(count.add(1, ordering: .relaxed).newValue) }
    #expect(try await exposed().value("g") == 1)
    #expect(try await exposed().value("g") == 2)
  }

  @Test(arguments: [
    "quote\"", "back\\slash", "line\nfeed", "cr\r\nlf", "\\n", "è 🔔", "\"\u{301}", "", "}", "a\",b=\"c",
  ])
  func labelValuesRoundTrip(value: String) async throws {
    Counter(label: "c_total", dimensions: [("v", value)], factory: registry).increment()
    #expect(try await exposed().value("c_total", ["v": value]) == 1)
  }

  @Test func namesAreSanitised() async throws {
    Counter(label: "9 wörds.total", dimensions: [("le", "x"), ("a-b", "y"), ("a-b", "z")], factory: registry)
      .increment()
    #expect(try await exposed().value("_9_w_rds_total", ["le_": "x", "a_b": "y"]) == 1)
    #expect(PrometheusText.metricName("") == "_")
  }

  @Test func labelValuesBeyondLimitShareOneSeries() async throws {
    for index in 0..<1000 {
      Counter(label: "c_total", dimensions: [("user", "u\(index)"), ("kind", "k")], factory: registry).increment()
    }
    let text = try await exposed()
    #expect(text.samples.filter { $0.name == "c_total" }.count == 6)
    #expect(text.value("c_total", ["user": "u4", "kind": "k"]) == 1)
    #expect(text.value("c_total", ["user": "_OTHER", "kind": "_OTHER"]) == 995)
  }

  @Test func namesBeyondLimitAndConflictingKindsAreDiscarded() async throws {
    for index in 0..<100 { Counter(label: "c\(index)_total", factory: registry).increment() }
    Gauge(label: "c1_total", factory: registry).record(7)
    FloatingPointCounter(label: "c1_total", factory: registry).increment(by: 7)
    let text = try await exposed()
    let names = text.samples.map(\.name).filter { $0.contains(/^c[0-9]+_total$/) }
    #expect(names.count == 12)
    #expect(text.value("c1_total") == 1)
    #expect(text.value("campanile_metrics_discarded_handles_total") == 90)
  }

  @Test func unusualNumbersNeitherTrapNorDecreaseCounters() async throws {
    let counter = registry.makeCounter(label: "c_total", dimensions: [])
    counter.increment(by: 5)
    counter.increment(by: -3)
    let float = registry.makeFloatingPointCounter(label: "f_total", dimensions: [])
    for amount in [Double.nan, .infinity, -1, 2] { float.increment(by: amount) }
    let histogram = registry.makeTimer(label: "t", dimensions: [])
    for amount in [Int64.min, .max, 0] { histogram.recordNanoseconds(amount) }
    let gauge = registry.makeMeter(label: "g", dimensions: [])
    gauge.set(Double.nan)
    let text = try await exposed()
    #expect(text.value("c_total") == 5)
    #expect(text.value("f_total") == 2)
    #expect(text.value("t_count") == 3)
    #expect(text.value("g")?.isNaN == true)
    for value in [Double.infinity, 1e300, -0.0, 1e15, 123_456_789_012_345_680] {
      #expect(Double(PrometheusText.number(value).replacing("+Inf", with: "inf")) == value)
    }
  }

  @Test func concurrentCountsAddUp() async throws {
    let meter = registry.makeMeter(label: "m", dimensions: [])
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask { [registry] in
          let counter = registry.makeCounter(label: "c_total", dimensions: [])
          let timer = registry.makeTimer(label: "t", dimensions: [])
          for _ in 0..<1000 {
            counter.increment(by: 1)
            meter.increment(by: 1)
            timer.recordNanoseconds(1)
          }
        }
      }
    }
    let text = try await exposed()
    #expect(text.value("c_total") == 8000)
    #expect(text.value("m") == 8000)
    #expect(text.value("t_count") == 8000)
  }

  @Test func processMetricsAreExported() async throws {
    let testedAtSeconds = Double(WallClock.nowMs()) / 1000
    let text = try await exposed()
    #expect(try #require(text.value("process_resident_memory_bytes")) > 1_000_000)
    #expect(try #require(text.value("process_open_fds")) >= 3)
    #expect(try #require(text.value("process_cpu_seconds_total")) > 0)
    // The start of the process, not of the first scrape.
    let started = try #require(text.value("process_start_time_seconds"))
    #expect(started > 1_600_000_000 && started < testedAtSeconds)
    #expect(text.value("campanile_build_info", ["version": CampanileVersion.string]) == 1)
  }

  @Test func rpcCallsAreCountedByMethodAndCode() async throws {
    let registry = MetricsRegistry()
    let metrics = CallMetrics()
    registry.addCalls(metrics)
    let method = MethodDescriptor(
      path: "p.v1.S/Get", kind: .unary, idempotency: .unknown, requestType: "p.v1.Q", responseType: "p.v1.R",
      httpRules: [])
    let recorder = metrics.recorder(for: method)
    let unknown = metrics.recorder(for: nil)
    metrics.connectionOpened()
    for _ in 0..<3 { recorder.callStarted(on: .shared) }
    recorder.callFinished(code: nil, durationNs: 1_000_000, on: .shared)
    recorder.callFinished(code: .notFound, durationNs: 1_000_001, on: .shared)
    unknown.callStarted(on: .shared)
    unknown.callFinished(code: .unimplemented, durationNs: 0, on: .shared)
    let text = try PrometheusChecker(await registry.exposition())
    let labels = ["service": "p.v1.S", "method": "Get"]
    #expect(text.value("campanile_server_started_total", labels) == 3)
    #expect(text.value("campanile_server_handled_total", labels.merging(["code": "OK"]) { $1 }) == 1)
    #expect(text.value("campanile_server_handled_total", labels.merging(["code": "NOT_FOUND"]) { $1 }) == 1)
    let other = ["service": "_OTHER", "method": "_OTHER", "code": "UNIMPLEMENTED"]
    #expect(text.value("campanile_server_handled_total", other) == 1)
    #expect(text.value("campanile_server_handling_seconds_count", labels) == 2)
    // Bounds are included, as in Prometheus.
    let bounded = { (bound: String) in
      text.value("campanile_server_handling_seconds_bucket", labels.merging(["le": bound]) { $1 })
    }
    #expect(bounded("0.0005") == 0 && bounded("0.001") == 1 && bounded("0.0025") == 2 && bounded("+Inf") == 2)
    #expect(text.value("campanile_server_handling_seconds_sum", labels) == 0.002_000_001)
    #expect(text.value("campanile_server_open_calls") == 1)
    #expect(text.value("campanile_server_open_connections") == 1)
    // A scrape adds nothing to the counts.
    let again = try PrometheusChecker(await registry.exposition())
    #expect(again.value("campanile_server_handling_seconds_count", labels) == 2)
    #expect(again.value("campanile_server_started_total", labels) == 3)
  }
}
