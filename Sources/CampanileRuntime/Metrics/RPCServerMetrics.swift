public import CoreMetrics
import Synchronization

/// The metrics of an RPC server, with every handle looked up once.
///
/// `campanile_server_handled_total{service,method,code}`, `campanile_server_handling_seconds{service,method}`,
/// `campanile_server_started_total{service,method}`, `campanile_server_open_calls` and
/// `campanile_server_open_connections`. Methods that were not named at the start count as `_OTHER`, so that callers
/// cannot make up label values. Safe to use from any thread.
public final class RPCServerMetrics: Sendable {
  private let methods: [String: MethodMetrics]
  private let other: MethodMetrics
  private let openCalls: any MeterHandler
  private let openConnections: any MeterHandler

  /// - Parameter methods: paths of all methods on the port, `package.Service/Method`.
  public init(factory: any MetricsFactory, methods: some Sequence<String>) {
    var known: [String: MethodMetrics] = [:]
    for path in methods { known[path] = MethodMetrics(path: path, factory: factory) }
    self.methods = known
    other = MethodMetrics(path: "\(MetricsRegistry.otherLabel)/\(MetricsRegistry.otherLabel)", factory: factory)
    openCalls = factory.makeMeter(label: "campanile_server_open_calls", dimensions: [])
    openConnections = factory.makeMeter(label: "campanile_server_open_connections", dimensions: [])
  }

  /// A call to `path` has been accepted.
  public func callStarted(_ path: String) {
    (methods[path] ?? other).started.increment(by: 1)
    openCalls.increment(by: 1)
  }

  /// A started call has ended. `status` is a gRPC status number; numbers beyond 16 count as UNKNOWN.
  public func callEnded(_ path: String, status: Int, durationNanoseconds: Int64) {
    let metrics = methods[path] ?? other
    openCalls.decrement(by: 1)
    metrics.handled(status).increment(by: 1)
    metrics.seconds.recordNanoseconds(durationNanoseconds)
  }

  /// A connection has been accepted.
  public func connectionOpened() { openConnections.increment(by: 1) }

  /// A connection has ended.
  public func connectionClosed() { openConnections.decrement(by: 1) }

  /// The names of the gRPC status numbers, 0 to 16.
  static let statusNames = [
    "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
    "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
    "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
  ]
}

/// The handles of one method.
private final class MethodMetrics: Sendable {
  let started: any CounterHandler
  let seconds: any TimerHandler
  private let dimensions: [(String, String)]
  private let factory: any MetricsFactory
  private let ok: any CounterHandler
  // Made at their first use: most methods never answer most codes, and each would be a line of every scrape.
  private let failures = Mutex<[Int: any CounterHandler]>([:])

  init(path: String, factory: any MetricsFactory) {
    let parts = path.split(separator: "/", maxSplits: 1)
    let service = parts.first.map(String.init) ?? ""
    dimensions = [("service", service), ("method", parts.count > 1 ? String(parts[1]) : "")]
    self.factory = factory
    started = factory.makeCounter(label: "campanile_server_started_total", dimensions: dimensions)
    seconds = factory.makeTimer(label: "campanile_server_handling_seconds", dimensions: dimensions)
    ok = factory.makeCounter(label: "campanile_server_handled_total", dimensions: dimensions + [("code", "OK")])
  }

  func handled(_ status: Int) -> any CounterHandler {
    if status == 0 { return ok }
    let names = RPCServerMetrics.statusNames
    let status = names.indices.contains(status) ? status : 2
    return failures.withLock { failures in
      if let counter = failures[status] { return counter }
      let counter = factory.makeCounter(
        label: "campanile_server_handled_total", dimensions: dimensions + [("code", names[status])])
      failures[status] = counter
      return counter
    }
  }
}
