import CampanileBase
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

/// Settings for traces, the log of slow calls, and call metrics.
public enum TracingConfiguration {
  public static let endpoint = "otlp-endpoint"
  public static let ratio = "trace-ratio"
  public static let rateMax = "trace-rate-max"
  public static let slowCallMs = "slow-call-ms"
  public static let callMetrics = "call-metrics"

  public static let all: [Setting] = [
    .string(endpoint, help: "URL of the OTLP receiver for spans, http://HOST:PORT; unset disables traces"),
    Setting(
      ratio, .double(0...1), default: "0.01",
      help: "fraction of the calls without a traceparent that start a trace"),
    .int(
      rateMax, default: 1_000, in: 1...1_000_000,
      help: "maximum number of new traces per second, including those that callers request"),
    .int(slowCallMs, default: 1_000, in: 0...600_000, help: "duration from which calls are logged; 0 disables the log"),
    .bool(callMetrics, default: true, help: "count calls and their durations for /metrics"),
  ]

  /// Returns the URL for spans; nil if tracing is disabled.
  ///
  /// - Throws: `ConfigurationError` `invalidValue` for an invalid URL.
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
    // Like OTEL_EXPORTER_OTLP_ENDPOINT, a base URL. A complete URL is accepted as well.
    return base.hasSuffix("/v1/traces") ? base : base + "/v1/traces"
  }
}

/// The tracer of a process and the exporter of its spans.
struct ProcessTracing: Sendable {
  let tracer: Tracer
  let exporter: SpanExporter

  /// Creates the tracer and the exporter; returns nil if tracing is disabled.
  static func make(
    _ settings: Settings, name: String, version: String, group: MultiThreadedEventLoopGroup, metrics: MetricsRegistry,
    logger: Logger
  ) throws(ConfigurationError) -> ProcessTracing? {
    guard let url = try TracingConfiguration.url(settings) else { return nil }
    let queue = SpanQueue()
    let exporter = SpanExporter(
      queue, resource: resource(name, version), sender: OTLPSender(url: url, group: group), logger: logger)
    metrics.addTotals("campanile_trace_spans_total") {
      let counts = queue.counts
      return [
        ([("result", "exported")], counts.exported), ([("result", "dropped")], counts.dropped),
        ([("result", "failed")], counts.failed),
      ]
    }
    let tracer = Tracer(
      ratio: try settings.double(TracingConfiguration.ratio),
      tracesPerSecondMax: try settings.int(TracingConfiguration.rateMax), nowNs: { WallClock.nowNs() },
      onFinish: { queue.append($0) })
    metrics.addTotals("campanile_traces_limited_total") { [([], tracer.limitedTraces)] }
    return ProcessTracing(tracer: tracer, exporter: exporter)
  }

  private static func resource(_ name: String, _ version: String) -> [FinishedSpan.Attribute] {
    [
      .init(key: "service.name", value: name), .init(key: "service.version", value: version),
      .init(key: "process.pid", value: String(getpid())),
    ]
  }
}
