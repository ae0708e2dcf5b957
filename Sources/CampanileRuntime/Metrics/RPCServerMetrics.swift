public import CampanileRPC
public import CoreMetrics
import Synchronization

/// The metrics of an RPC server, with every handle looked up once.
///
/// `campanile_server_handled_total{service,method,code}`, `campanile_server_handling_seconds{service,method}`,
/// `campanile_server_started_total{service,method}`, `campanile_server_open_calls` and
/// `campanile_server_open_connections`. Unknown methods count as `_OTHER`, so that callers cannot make up label values.
/// Safe to use from any thread.
public final class RPCServerMetrics: ServerObserver {
  private let factory: any MetricsFactory
  private let openCalls: any MeterHandler
  private let openConnections: any MeterHandler

  public init(factory: any MetricsFactory) {
    self.factory = factory
    openCalls = factory.makeMeter(label: "campanile_server_open_calls", dimensions: [])
    openConnections = factory.makeMeter(label: "campanile_server_open_connections", dimensions: [])
  }

  public func connectionOpened() { openConnections.increment(by: 1) }

  public func connectionClosed() { openConnections.decrement(by: 1) }

  /// The recorder of one method; nil is every unknown one.
  public func recorder(for method: MethodDescriptor?) -> any MethodRecorder {
    let other = MetricsRegistry.otherLabel
    return MethodMetrics(
      dimensions: [("service", method?.service ?? other), ("method", method?.name ?? other)], factory: factory,
      openCalls: openCalls)
  }
}

/// The handles of one method.
private final class MethodMetrics: MethodRecorder {
  private let dimensions: [(String, String)]
  private let factory: any MetricsFactory
  private let openCalls: any MeterHandler
  private let started: any CounterHandler
  private let seconds: any TimerHandler
  private let succeeded: any CounterHandler
  // Made at their first use: most methods never answer most codes, and each would be a line of every scrape.
  private let failures = Mutex<[RPCError.Code: any CounterHandler]>([:])

  init(dimensions: [(String, String)], factory: any MetricsFactory, openCalls: any MeterHandler) {
    self.dimensions = dimensions
    self.factory = factory
    self.openCalls = openCalls
    started = factory.makeCounter(label: "campanile_server_started_total", dimensions: dimensions)
    seconds = factory.makeTimer(label: "campanile_server_handling_seconds", dimensions: dimensions)
    succeeded = factory.makeCounter(
      label: "campanile_server_handled_total", dimensions: dimensions + [("code", "OK")])
  }

  func callStarted() {
    started.increment(by: 1)
    openCalls.increment(by: 1)
  }

  func callFinished(code: RPCError.Code?, durationNs: Int64) {
    openCalls.decrement(by: 1)
    handled(code).increment(by: 1)
    seconds.recordNanoseconds(durationNs)
  }

  private func handled(_ code: RPCError.Code?) -> any CounterHandler {
    guard let code else { return succeeded }
    return failures.withLock { failures in
      if let counter = failures[code] { return counter }
      let counter = factory.makeCounter(
        label: "campanile_server_handled_total", dimensions: dimensions + [("code", code.name)])
      failures[code] = counter
      return counter
    }
  }
}
