import APNs
import CampanileBase
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// Clock, randomness and log of the sender.
struct SenderEnvironment: Sendable {
  /// A monotonic clock in milliseconds.
  var nowMs: @Sendable () -> Int64
  /// Returns random numbers in 0..<1.
  var random: @Sendable () -> Double
  /// Log sink for messages to the operator.
  var log: @Sendable (String) -> Void
}

/// A buffer of results for the dispatcher, with a signal. Bounded by the number of requests in flight.
final class ResultBox: Sendable {
  private let items = Mutex<[PushResult]>([])
  let signal: WakeSignal
  private let onResults: (@Sendable ([PushResult]) -> Void)?

  /// Creates a buffer. If `onResults` is given, it receives results immediately, on an event loop, and nothing is
  /// stored.
  init(signal: WakeSignal, onResults: (@Sendable ([PushResult]) -> Void)? = nil) {
    self.signal = signal
    self.onResults = onResults
  }

  func append(_ results: [PushResult]) {
    if let onResults { return onResults(results) }
    items.withLock { $0 += results }
    signal.notify()
  }

  func take() -> [PushResult] {
    items.withLock { items in
      defer { items = [] }
      return items
    }
  }
}

/// A sender of pushes over HTTP/2 and TLS, with a connection pool for each route.
final class APNsSender: PushSending {
  struct Configuration: Sendable {
    /// PEM file of the trusted certificates; nil for the system's.
    var trustFile: String?
    var pool = APNsPool.Limits()
    /// Maximum number of routes, which are pairs of host and signing key. Pushes to further routes are rejected.
    var routesMax = 256

    init() {}
  }

  private let configuration: Configuration
  private let tls: NIOSSLContext
  private let group: any EventLoopGroup
  private let environment: SenderEnvironment
  private let results: ResultBox
  private let pools = Mutex<[PushRoute: APNsPool]>([:])

  /// Creates a sender.
  ///
  /// - Parameter signal: Signalled when results arrive or a route accepts pushes again.
  /// - Throws: NIOSSL's errors if `trustFile` contains no certificates.
  init(
    _ configuration: Configuration, group: any EventLoopGroup, environment: SenderEnvironment, signal: WakeSignal,
    onResults: (@Sendable ([PushResult]) -> Void)? = nil
  ) throws {
    self.configuration = configuration
    self.group = group
    self.environment = environment
    results = ResultBox(signal: signal, onResults: onResults)
    var tls = TLSConfiguration.makeClientConfiguration()
    tls.minimumTLSVersion = .tlsv12
    tls.applicationProtocols = ["h2"]
    if let file = configuration.trustFile {
      tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(file))
    }
    self.tls = try NIOSSLContext(configuration: tls)
  }

  func capacity(of route: PushRoute) -> PushCapacity {
    pool(route)?.capacity ?? PushCapacity(free: 0, retryAtMs: nil)
  }

  func submit(_ requests: [PushRequest], to route: PushRoute) {
    guard !requests.isEmpty else { return }
    guard let pool = pool(route) else {
      return results.append(requests.map { PushResult(ticket: $0.ticket, outcome: .unprocessed("too many routes")) })
    }
    pool.submit(requests)
  }

  func takeResults() -> [PushResult] { results.take() }

  /// Closes all connections.
  func shutDown() {
    let pools = pools.withLock { pools in
      defer { pools = [:] }
      return Array(pools.values)
    }
    for pool in pools { pool.shutDown() }
  }

  private func pool(_ route: PushRoute) -> APNsPool? {
    pools.withLock { pools in
      if let pool = pools[route] { return pool }
      guard pools.count < configuration.routesMax else { return nil }
      let pool = APNsPool(
        route: route, limits: configuration.pool, tls: tls, loop: group.next(), environment: environment,
        results: results)
      pools[route] = pool
      return pool
    }
  }
}
