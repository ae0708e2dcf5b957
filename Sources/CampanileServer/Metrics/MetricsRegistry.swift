import CampanileBase
import CampanileRPC
public import CoreMetrics
import Synchronization

/// The `MetricsFactory` of a service, with Prometheus text exposition.
///
/// Counters become `counter`, meters and non-aggregating recorders `gauge`, timers and aggregating recorders
/// `histogram`. Timers are exported in seconds. Creating a handle takes a lock and a lookup, so create it once and
/// reuse it. Using a handle costs one atomic addition, or two for histograms.
///
/// Cardinality is bounded. Beyond `maximumSeries` label sets for a name, further ones share a series whose label values
/// are all `_OTHER`. Beyond `maximumFamilies` names, and for a name used with two kinds, values are discarded;
/// `campanile_metrics_discarded_handles_total` counts such handles. Safe to use from any thread.
public final class MetricsRegistry: MetricsFactory {
  /// The label value for all values beyond the limit, and for unknown methods.
  public static let otherLabel = MethodMetrics.other
  /// The buckets of aggregating recorders, in the recorder's unit.
  private static let valueBuckets = LogLinearBuckets(
    precisionBits: 3, powerMax: 26, bounds: (0...10).map { 1 << (2 * $0) })

  private struct State {
    var families: [String: MetricFamily] = [:]
    var help: [String: String] = [:]
    var discarded: Int64 = 0
    var collectors: [@Sendable () async -> Void] = []
  }

  public let maximumSeries: Int
  public let maximumFamilies: Int
  private let state = Mutex(State())
  private let discarding = DiscardedSeries()

  public init(maximumSeries: Int = 200, maximumFamilies: Int = 1000) {
    self.maximumSeries = maximumSeries
    self.maximumFamilies = maximumFamilies
  }

  /// Sets the `# HELP` text of a metric.
  public func describe(_ name: String, _ help: String) {
    state.withLock { state in
      guard state.help.count < maximumFamilies else { return }
      state.help[PrometheusText.metricName(name)] = help
    }
  }

  /// Runs `collect` before each exposition, for values that are cheaper to read than to track. It must be fast.
  public func addCollector(_ collect: @escaping @Sendable () async -> Void) {
    state.withLock { $0.collectors.append(collect) }
  }

  /// Adds a gauge without labels, which is read before each exposition.
  public func addGauge(_ name: String, _ read: @escaping @Sendable () async -> Int) {
    let gauge = makeRecorder(label: name, dimensions: [], aggregate: false)
    addCollector { gauge.record(Int64(await read())) }
  }

  /// Adds counters that are maintained elsewhere.
  ///
  /// - Parameter read: Returns the current totals by label. Called before each exposition.
  public func addTotals(_ name: String, _ read: @escaping @Sendable () -> [(labels: [(String, String)], total: Int)]) {
    let reported = Mutex<[Labels: Int]>([:])
    addCollector { [unowned self] in
      for (labels, total) in read() {
        let added = reported.withLock { reported in
          defer { reported[Labels(labels)] = total }
          return total - reported[Labels(labels), default: 0]
        }
        makeCounter(label: name, dimensions: labels).increment(by: Int64(max(0, added)))
      }
    }
  }

  /// Adds gauges with labels, which are read before each exposition.
  public func addGauges(_ name: String, _ read: @escaping @Sendable () -> [(labels: [(String, String)], value: Double)])
  {
    addCollector { [unowned self] in
      for (labels, value) in read() {
        makeRecorder(label: name, dimensions: labels, aggregate: false).record(value)
      }
    }
  }

  /// Adds histograms of durations that are maintained elsewhere, with `MethodMetrics.durationBuckets`.
  ///
  /// - Parameter read: Returns the histograms by label. Called before each exposition.
  func addHistograms(
    _ name: String, _ read: @escaping @Sendable () -> [(labels: [(String, String)], durations: LogLinearHistogram)]
  ) {
    addCollector { [unowned self] in
      for (labels, durations) in read() {
        (makeTimer(label: name, dimensions: labels) as? HistogramSeries)?.include(durations)
      }
    }
  }

  /// Returns all metrics in the Prometheus text format 0.0.4: process metrics, then the others by name and labels.
  public func exposition() async -> String {
    for collect in state.withLock({ $0.collectors }) { await collect() }
    let (families, help, discarded) = state.withLock { ($0.families, $0.help, $0.discarded) }
    var text = PrometheusText()
    ProcessMetrics.write(to: &text)
    for (name, family) in families.sorted(by: { $0.key < $1.key }) {
      text.header(name, kind: family.kind.rawValue, help: help[name])
      for (labels, series) in family.series.sorted(by: { $0.key < $1.key }) {
        switch series {
        case .counter(let counter): text.sample(name, labels, Double(counter.current))
        case .floatingPointCounter(let counter): text.sample(name, labels, counter.current)
        case .gauge(let gauge): text.sample(name, labels, gauge.current)
        case .histogram(let histogram): text.histogram(name, labels, histogram)
        }
      }
    }
    let name = "campanile_metrics_discarded_handles_total"
    text.header(name, kind: "counter", help: "Metric handles discarded for a conflicting kind or too many names.")
    text.sample(name, Labels([]), Double(discarded))
    return text.output
  }

  public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    if case .counter(let series)? = series(label, dimensions, { .counter(CounterSeries()) }) { return series }
    return discard()
  }

  public func makeFloatingPointCounter(
    label: String, dimensions: [(String, String)]
  ) -> any FloatingPointCounterHandler {
    let made = series(label, dimensions) { .floatingPointCounter(FloatingPointCounterSeries()) }
    if case .floatingPointCounter(let series)? = made { return series }
    return discard()
  }

  public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    if case .gauge(let series)? = series(label, dimensions, { .gauge(GaugeSeries()) }) { return series }
    return discard()
  }

  public func makeRecorder(
    label: String, dimensions: [(String, String)], aggregate: Bool
  ) -> any RecorderHandler {
    let made = series(label, dimensions) {
      aggregate ? .histogram(HistogramSeries(Self.valueBuckets, perUnit: 1)) : .gauge(GaugeSeries())
    }
    switch made {
    case .gauge(let series) where !aggregate: return series
    case .histogram(let series) where aggregate: return series
    default: return discard()
    }
  }

  public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    let made = series(label, dimensions) {
      .histogram(HistogramSeries(MethodMetrics.durationBuckets, perUnit: 1_000_000))
    }
    if case .histogram(let series)? = made { return series }
    return discard()
  }

  // Prometheus expects counters to persist, so series live as long as the process. Their number is bounded.
  public func destroyCounter(_ handler: any CounterHandler) {}
  public func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
  public func destroyMeter(_ handler: any MeterHandler) {}
  public func destroyRecorder(_ handler: any RecorderHandler) {}
  public func destroyTimer(_ handler: any TimerHandler) {}

  /// Finds or creates the series; returns nil if the name has another kind or exceeds the maximum number of names.
  private func series(
    _ label: String, _ dimensions: [(String, String)], _ make: () -> MetricFamily.Series
  ) -> MetricFamily.Series? {
    let name = PrometheusText.metricName(label)
    let labels = Labels(dimensions)
    return state.withLock { state in
      if let existing = state.families[name]?.series[labels] { return existing }
      let made = make()
      if state.families[name] == nil {
        guard state.families.count < maximumFamilies else { return nil }
        state.families[name] = MetricFamily(kind: made.kind)
      }
      guard let family = state.families[name], family.kind == made.kind else { return nil }
      if family.series.count < maximumSeries {
        state.families[name]?.series[labels] = made
        return made
      }
      if let other = family.series[labels.other] { return other }
      state.families[name]?.series[labels.other] = made
      return made
    }
  }

  private func discard() -> DiscardedSeries {
    state.withLock { $0.discarded += 1 }
    return discarding
  }
}
