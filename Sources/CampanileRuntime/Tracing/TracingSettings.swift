import CampanileRPC
import Logging
import NIOPosix

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The settings of traces, of the log of slow calls, and of what is counted of calls.
public enum TracingSettings {
  public static let endpoint = "otlp-endpoint"
  public static let ratio = "trace-ratio"
  public static let rateMax = "trace-rate-max"
  public static let slowCallMs = "slow-call-ms"
  public static let callMetrics = "call-metrics"

  public static let all: [Setting] = [
    .string(endpoint, help: "http://HOST:PORT of a receiver of OTLP, which spans are sent to; unset: no traces"),
    Setting(
      ratio, .double(0...1), default: "0.01",
      help: "of the calls that come without a traceparent, how many begin a trace"),
    .int(
      rateMax, default: 1_000, in: 1...1_000_000,
      help: "traces that begin within a second at most, also where callers ask for them"),
    .int(slowCallMs, default: 1_000, in: 0...600_000, help: "calls that take so long are logged; 0 logs none"),
    .bool(callMetrics, default: true, help: "count calls and their durations for /metrics"),
  ]

  /// Where spans are posted; nil when traces are off. Throws `ConfigurationError` `invalidValue` for what is no such URL.
  static func url(_ settings: Settings) throws(ConfigurationError) -> String? {
    guard let text = try settings.optionalString(endpoint), !text.isEmpty else { return nil }
    let schemes = ["http://", "https://"]
    let rest = schemes.lazy.compactMap { text.hasPrefix($0) ? text.dropFirst($0.count) : nil }.first
    guard let rest, let first = rest.first, first != "/", rest.utf8.allSatisfy({ (0x21...0x7e).contains($0) }),
      !rest.contains(where: { "?#@".contains($0) })
    else {
      throw ConfigurationError(
        code: .invalidValue, key: endpoint,
        message: "--\(endpoint): \(text.debugDescription) is not http://HOST:PORT or https://HOST:PORT")
    }
    let base = text.hasSuffix("/") ? String(text.dropLast()) : text
    // As OTEL_EXPORTER_OTLP_ENDPOINT is understood: a base, unless it names the path itself.
    return base.hasSuffix("/v1/traces") ? base : base + "/v1/traces"
  }
}

/// The tracer of a process, and what exports its spans.
struct ProcessTracing: Sendable {
  let tracer: Tracer
  let exporter: SpanExporter

  /// Nil when traces are off.
  static func make(
    _ settings: Settings, name: String, group: MultiThreadedEventLoopGroup, metrics: MetricsRegistry, logger: Logger
  ) throws(ConfigurationError) -> ProcessTracing? {
    guard let url = try TracingSettings.url(settings) else { return nil }
    let queue = SpanQueue()
    let exporter = SpanExporter(
      queue, resource: resource(name), sender: OTLPSender(url: url, group: group), logger: logger)
    metrics.addTotals("campanile_trace_spans_total") {
      let counts = queue.counts
      return [
        ([("result", "exported")], counts.exported), ([("result", "dropped")], counts.dropped),
        ([("result", "failed")], counts.failed),
      ]
    }
    let tracer = Tracer(
      ratio: try settings.double(TracingSettings.ratio),
      tracesPerSecondMax: try settings.int(TracingSettings.rateMax), nowNs: { WallClock.nowNs() },
      onFinish: { queue.append($0) })
    metrics.addTotals("campanile_traces_limited_total") { [([], tracer.limitedTraces)] }
    return ProcessTracing(tracer: tracer, exporter: exporter)
  }

  private static func resource(_ name: String) -> [FinishedSpan.Attribute] {
    [
      .init(key: "service.name", value: name), .init(key: "service.version", value: CampanileVersion.string),
      .init(key: "process.pid", value: String(getpid())),
    ]
  }
}
