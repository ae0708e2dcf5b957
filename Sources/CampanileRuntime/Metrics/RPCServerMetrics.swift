public import CampanileRPC
import CoreMetrics
import Synchronization

/// The metrics of an RPC server, with every handle looked up once.
///
/// `campanile_server_handled_total{service,method,code}`, `campanile_server_handling_seconds{service,method}`,
/// `campanile_server_started_total{service,method}`, `campanile_server_open_calls` and
/// `campanile_server_open_connections`. Unknown methods count as `_OTHER`, so that callers cannot make up label values.
/// A call that succeeds costs four atomic additions. Safe to use from any thread.
public final class RPCServerMetrics: ServerObserver {
  private let registry: MetricsRegistry
  private let openConnections: any MeterHandler
  /// By their paths; nil stands for every unknown method.
  private let methods = Mutex<[String?: MethodMetrics]>([:])

  public init(registry: MetricsRegistry) {
    self.registry = registry
    openConnections = registry.makeMeter(label: "campanile_server_open_connections", dimensions: [])
    registry.addGauge("campanile_server_open_calls") { [weak self] in self?.openCalls ?? 0 }
  }

  public func connectionOpened() { openConnections.increment(by: 1) }

  public func connectionClosed() { openConnections.decrement(by: 1) }

  /// The recorder of one method, the same one whenever it is asked for; nil is every unknown one.
  public func recorder(for method: MethodDescriptor?) -> any MethodRecorder {
    methods.withLock { methods in
      if let known = methods[method?.path] { return known }
      let other = MetricsRegistry.otherLabel
      let made = MethodMetrics(
        dimensions: [("service", method?.service ?? other), ("method", method?.name ?? other)], registry: registry)
      methods[method?.path] = made
      return made
    }
  }

  /// What has begun and not ended. A call that begins or ends meanwhile may be left out.
  private var openCalls: Int {
    let methods = methods.withLock { Array($0.values) }
    // Beyond the registry's bound, methods share their series.
    let distinct = Dictionary(methods.map { (ObjectIdentifier($0.started), $0) }) { first, _ in first }
    return max(0, distinct.values.reduce(0) { $0 + $1.openCalls })
  }
}

/// The handles of one method.
private final class MethodMetrics: MethodRecorder {
  let started: CounterSeries
  private let seconds: HistogramSeries
  private let succeeded: CounterSeries
  // Made at their first use: most methods never answer most codes, and each would be a line of every scrape.
  private let failures = Mutex<[RPCError.Code: CounterSeries]>([:])
  private let dimensions: [(String, String)]
  private let registry: MetricsRegistry

  init(dimensions: [(String, String)], registry: MetricsRegistry) {
    self.dimensions = dimensions
    self.registry = registry
    started = registry.counter("campanile_server_started_total", dimensions)
    seconds = registry.secondsHistogram("campanile_server_handling_seconds", dimensions)
    succeeded = registry.counter(Self.handledLabel, dimensions + [("code", "OK")])
  }

  /// Every call that ends is in the histogram once.
  var openCalls: Int {
    let ended = seconds.snapshot.counts.reduce(0, &+)
    return Int(started.current) - Int(ended)
  }

  func callStarted() { started.increment(by: 1) }

  func callFinished(code: RPCError.Code?, durationNs: Int64) {
    if let code { failed(code) } else { succeeded.increment(by: 1) }
    seconds.recordNanoseconds(durationNs)
  }

  private func failed(_ code: RPCError.Code) {
    let counter = failures.withLock { failures in
      if let counter = failures[code] { return counter }
      let counter = registry.counter(Self.handledLabel, dimensions + [("code", code.name)])
      failures[code] = counter
      return counter
    }
    counter.increment(by: 1)
  }

  private static let handledLabel = "campanile_server_handled_total"
}

extension MetricsRegistry {
  /// A counter without a protocol between it and its caller; one that nobody is told of where the registry refuses it.
  fileprivate func counter(_ label: String, _ dimensions: [(String, String)]) -> CounterSeries {
    makeCounter(label: label, dimensions: dimensions) as? CounterSeries ?? CounterSeries()
  }

  /// The same for a timer.
  fileprivate func secondsHistogram(_ label: String, _ dimensions: [(String, String)]) -> HistogramSeries {
    makeTimer(label: label, dimensions: dimensions) as? HistogramSeries
      ?? HistogramSeries(bounds: Self.secondsBuckets)
  }
}
