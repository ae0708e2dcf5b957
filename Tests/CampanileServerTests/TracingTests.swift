import CampanileBase
import CampanileRPC
import Logging
import Synchronization
import TestSupport
import Testing

@testable import CampanileServer

private func span(_ number: UInt64, parent: UInt64 = 0) -> FinishedSpan {
  FinishedSpan(
    traceIDHigh: 0x0102, traceIDLow: 0xa0, spanID: number, parentSpanID: parent, name: "s\(number)", kind: .server,
    startNs: 1_700_000_000_000_000_001, endNs: 1_700_000_000_000_000_002)
}

@Suite struct OTLPTracesTests {
  @Test func writesOTLPJSON() {
    var first = span(1)
    first.attributes = [.init(key: "k", value: "a\"b\n")]
    var second = span(2, parent: 1)
    second.failure = "broken"
    let text = String(
      decoding: OTLPTraces.json([first, second], resource: [.init(key: "service.name", value: "x")]), as: UTF8.self)
    let head =
      #"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"x"}}]},"scopeSpans":"#
      + #"[{"scope":{"name":"campanile","version":"\#(CampanileVersion.string)"},"spans":["#
    let times = #""startTimeUnixNano":"1700000000000000001","endTimeUnixNano":"1700000000000000002""#
    let one =
      #"{"traceId":"000000000000010200000000000000a0","spanId":"0000000000000001","name":"s1","kind":2,\#(times),"#
      + #""attributes":[{"key":"k","value":{"stringValue":"a\"b\n"}}],"status":{}}"#
    let two =
      #"{"traceId":"000000000000010200000000000000a0","spanId":"0000000000000002","parentSpanId":"0000000000000001","#
      + #""name":"s2","kind":2,\#(times),"attributes":[],"status":{"code":2,"message":"broken"}}"#
    #expect(text == head + one + "," + two + "]}]}]}")
  }

  @Test(arguments: [0, 9, 10, 1_700_000_000_000_000_001, UInt64.max])
  func numbersAreWrittenInFull(value: UInt64) {
    var text = JSONText()
    text.quoted(value)
    text.hexadecimal(value)
    let digits = String(value, radix: 16)
    let padded = String(repeating: "0", count: 16 - digits.count) + digits
    #expect(String(decoding: text.bytes, as: UTF8.self) == "\"\(value)\"\(padded)")
  }

  @Test func queueIsBounded() {
    let queue = SpanQueue(spansMax: 2)
    for number in 1...5 { queue.append(span(UInt64(number))) }
    #expect(queue.counts.dropped == 3)
    #expect(queue.take(1).map(\.spanID) == [1])
    #expect(queue.take(10).map(\.spanID) == [2])
    #expect(queue.take(10).isEmpty && queue.count == 0)
  }

  @Test(arguments: [
    ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
    ("https://otlp.example.com/base/", "https://otlp.example.com/base/v1/traces"),
    ("http://[::1]:4318/v1/traces", "http://[::1]:4318/v1/traces"),
  ])
  func endpointsAreBaseURLs(text: String, url: String) throws {
    #expect(try TracingConfiguration.url(try settings("--otlp-endpoint", text)) == url)
  }

  @Test(arguments: ["localhost:4318", "ftp://x", "http://", "http:///v1", "http://a b", "http://x?y", "http://u@x"])
  func invalidEndpointsAreRejected(text: String) throws {
    let settings = try settings("--otlp-endpoint", text)
    #expect(throws: ConfigurationError.self) { try TracingConfiguration.url(settings) }
  }

  @Test func tracesAreDisabledByDefault() throws {
    #expect(try TracingConfiguration.url(try settings()) == nil)
    #expect(throws: ConfigurationError.self) { try settings("--trace-ratio", "1.5") }
  }

  private func settings(_ arguments: String...) throws -> Settings {
    let loader = SettingsLoader(executable: "test", settings: TracingConfiguration.all)
    guard case .run(let settings) = try loader.load(arguments: arguments, environment: [:]) else {
      throw StartupError("no run")
    }
    return settings
  }
}

/// A receiver with scripted outcomes. After the last one, it accepts every batch.
private final class Receiver: SpanSending {
  private let state = Mutex<(answers: [SpanSendOutcome], bodies: [String], isClosed: Bool)>(([], [], false))

  init(_ answers: [SpanSendOutcome] = []) { state.withLock { $0.answers = answers } }

  var bodies: [String] { state.withLock { $0.bodies } }
  var isClosed: Bool { state.withLock { $0.isClosed } }

  func send(_ body: [UInt8]) async -> SpanSendOutcome {
    state.withLock { state in
      state.bodies.append(String(decoding: body, as: UTF8.self))
      return state.answers.isEmpty ? .taken : state.answers.removeFirst()
    }
  }

  func close() async { state.withLock { $0.isClosed = true } }
}

@Suite(.timeLimit(.minutes(1))) struct SpanExporterTests {
  private func exporter(
    _ receiver: Receiver, _ queue: SpanQueue, _ sink: Collector = Collector(), batchMax: Int = 2
  ) -> SpanExporter {
    var limits = SpanExporter.Limits()
    limits.batchSpansMax = batchMax
    let logger = Logger(label: "test") { label in
      CampanileLogHandler(label: label, level: .debug, format: .json, sink: sink)
    }
    // Skip all pauses except the timeout of `finish`, which ends with its task.
    return SpanExporter(queue, resource: [], sender: receiver, limits: limits, logger: logger) { ms in
      if ms < 60_000 { await Task.yield() } else { try? await Task.sleep(for: .milliseconds(ms)) }
    }
  }

  @Test func batchesAreSentInOrder() async {
    let (queue, receiver) = (SpanQueue(), Receiver())
    let exporter = exporter(receiver, queue)
    for number in 1...3 { queue.append(span(UInt64(number))) }
    #expect(await exporter.exportBatch() == 2)
    #expect(await exporter.exportBatch() == 1)
    #expect(await exporter.exportBatch() == 0)
    #expect(receiver.bodies.map { $0.contains("\"s1\"") } == [true, false])
    #expect(receiver.bodies.last?.contains("\"s3\"") == true)
    #expect(queue.counts == .init(exported: 3))
  }

  @Test func busyReceiverIsRetriedThenBatchIsDropped() async {
    let (queue, sink) = (SpanQueue(), Collector())
    let receiver = Receiver([.busy("503"), .taken, .busy("503"), .busy("503"), .busy("503"), .refused("400")])
    let exporter = exporter(receiver, queue, sink)
    for number in 1...7 { queue.append(span(UInt64(number))) }
    while await exporter.exportBatch() > 0 {}
    #expect(receiver.bodies.count == 7)
    #expect(queue.counts == .init(exported: 3, failed: 4))
    // One message when the failure begins, and one when it ends.
    #expect(sink.all.count == 2)
  }

  @Test func pendingSpansAreSentOnShutdown() async {
    let (queue, receiver) = (SpanQueue(), Receiver())
    let exporter = exporter(receiver, queue)
    let running = Task { await exporter.run() }
    for number in 1...9 { queue.append(span(UInt64(number))) }
    await exporter.finish(after: running, timeoutMs: 60_000)
    #expect(queue.counts == .init(exported: 9) && receiver.isClosed)
  }

  @Test func slowSpansShareRequest() async {
    let (queue, receiver) = (SpanQueue(), Receiver())
    let pauses = Mutex<[Int64]>([])
    var limits = SpanExporter.Limits()
    limits.batchSpansMax = 4
    let exporter = SpanExporter(queue, resource: [], sender: receiver, limits: limits, logger: Logger(label: "test")) {
      ms in
      let count = pauses.withLock { pauses in
        pauses.append(ms)
        return pauses.count
      }
      if count == 2 { try? await Task.sleep(for: .seconds(600)) }
    }
    for number in 1...9 { queue.append(span(UInt64(number))) }
    let running = Task { await exporter.run() }
    while pauses.withLock({ $0.count }) < 2 { await Task.yield() }
    running.cancel()
    await running.value
    // Full batches are sent without a pause. After a partial batch, the exporter pauses.
    #expect(receiver.bodies.count == 3 && queue.counts == .init(exported: 9))
    #expect(pauses.withLock { $0 } == [limits.intervalMs, limits.intervalMs])
  }

  @Test(arguments: [
    (500, 0, 500), (500, 1_000, 500), (500, 8_192, 125), (125, 5_000, 51), (51, 2_048, 51), (51, 100, 500),
    (10, 8_192, 10),
  ])
  func pauseAdaptsToSpanRate(lastMs: Int64, count: Int, pauseMs: Int64) {
    #expect(SpanExporter.Limits().pauseMs(after: lastMs, count: count, spansMax: 8_192) == pauseMs)
  }

  @Test func unavailableReceiverDoesNotDelayShutdown() async {
    let queue = SpanQueue()
    let receiver = Receiver(Array(repeating: .busy("away"), count: 1_000))
    let exporter = exporter(receiver, queue)
    for number in 1...100 { queue.append(span(UInt64(number))) }
    await exporter.finish(after: Task {}, timeoutMs: 60_000)
    #expect(receiver.bodies.count < 5 && receiver.isClosed)
  }
}

@Suite struct CollectedMetricsTests {
  @Test func totalsAndGaugesAreReadOnExposition() async {
    let metrics = MetricsRegistry()
    let total = Mutex(3)
    metrics.addTotals("refused_total") { [([("reason", "A")], total.withLock { $0 })] }
    metrics.addGauges("breaker") { [([("backend", "x")], 2)] }
    #expect(await metrics.exposition().contains("refused_total{reason=\"A\"} 3\n"))
    total.withLock { $0 = 5 }
    let text = await metrics.exposition()
    #expect(text.contains("refused_total{reason=\"A\"} 5\n") && text.contains("breaker{backend=\"x\"} 2\n"))
  }

  @Test func diskSpaceOfFolderIsReported() throws {
    let folder = try TemporaryFolder()
    let space = try #require(DiskSpace(folder: folder.path)?.read())
    #expect(space.freeBytes > 0 && space.freeBytes <= space.sizeBytes)
    #expect(DiskSpace(folder: folder.path + "/none") == nil)
  }
}
