import APNs
import CampanileService
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// What the sender sees of the world.
struct SenderEnvironment: Sendable {
  /// A clock that never jumps, in milliseconds.
  var nowMs: @Sendable () -> Int64
  /// In 0..<1.
  var random: @Sendable () -> Double
  /// Something an operator should know.
  var log: @Sendable (String) -> Void
}

/// Results on their way to the dispatcher, and the bell that tells of them. It is bounded by the requests under way.
final class ResultBox: Sendable {
  private let items = Mutex<[PushResult]>([])
  let bell: WatchBell
  private let onResults: (@Sendable ([PushResult]) -> Void)?

  /// With `onResults` nothing is kept: it is told at once, on an event loop.
  init(bell: WatchBell, onResults: (@Sendable ([PushResult]) -> Void)? = nil) {
    self.bell = bell
    self.onResults = onResults
  }

  func append(_ results: [PushResult]) {
    if let onResults { return onResults(results) }
    items.withLock { $0 += results }
    bell.ring()
  }

  func take() -> [PushResult] {
    items.withLock { items in
      defer { items = [] }
      return items
    }
  }
}

/// Sends pushes over HTTP/2 and TLS, with a pool of connections for each route.
final class APNsSender: PushSending {
  struct Configuration: Sendable {
    /// PEM file with the certificates that are trusted; nil: those of the system.
    var trustFile: String?
    var pool = APNsPool.Limits()
    /// Routes, which are pairs of host and signing key. More share nothing: they are refused.
    var routesMax = 256

    init() {}
  }

  private let configuration: Configuration
  private let tls: NIOSSLContext
  private let group: any EventLoopGroup
  private let environment: SenderEnvironment
  private let results: ResultBox
  private let pools = Mutex<[PushRoute: APNsPool]>([:])

  /// Throws what NIOSSL throws for a file that holds no certificates. `bell` is rung when results have come or a route
  /// takes pushes again.
  init(
    _ configuration: Configuration, group: any EventLoopGroup, environment: SenderEnvironment, bell: WatchBell,
    onResults: (@Sendable ([PushResult]) -> Void)? = nil
  ) throws {
    self.configuration = configuration
    self.group = group
    self.environment = environment
    results = ResultBox(bell: bell, onResults: onResults)
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
