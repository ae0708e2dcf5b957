import CampanileAPI
import CampanileHTTP
public import CampanileRPC
package import Gateway
public import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import Synchronization

/// Serves the gateway's methods over HTTP/1.1: the Connect protocol, REST by the protos' HTTP rules, and event streams.
///
/// Pass the RPC frontend's dispatcher to `attach` and each accepted connection to `configure`. From there on, calls of
/// both frontends take the same path.
public final class HTTPFrontend: Sendable {
  /// Returns the response of `/healthz` or `/readyz`; `nil` for other paths.
  public typealias Operations = @Sendable (_ path: String) async -> HTTPAnswer?

  let configuration: HTTPConfiguration
  let timeouts: HTTPTimeouts
  let planner: HTTPPlanner
  /// Nil if the console is not served.
  let console: ConsoleFrontend?
  let loops = CallLoops()
  private let connections: Mutex<[ObjectIdentifier: NIOLoopBound<HTTPConnections>]> = Mutex([:])
  let waitingBytesBudget: WaitingBytesBudget
  let unreadBytesBudget: WaitingBytesBudget
  private let attached = Mutex<Service?>(nil)

  /// The judge of request heads and the dispatcher of calls.
  struct Service: Sendable {
    let dispatcher: any CallDispatcher
    let judge: any HeadJudge
  }
  /// The limiter of the connections that `configure` sets up.
  public let limiter: ConnectionLimiter
  /// HTTP rules of the protos that cannot be served.
  public var faults: [String] { planner.table.faults }

  /// Creates a frontend for the methods that the gateway serves. Attach it to the gateway's dispatcher.
  ///
  /// - Parameter dialects: In order of precedence; they take precedence over the suite's own paths.
  package init(_ gateway: Gateway, _ configuration: HTTPConfiguration, dialects: [any HTTPDialect] = []) {
    self.configuration = configuration
    timeouts = HTTPTimeouts(
      headTimeoutMs: configuration.headerTimeoutMs, bodyTimeoutMs: configuration.bodyTimeoutMs,
      idleTimeoutMs: configuration.idleTimeoutMs, unreadTimeoutMs: configuration.unreadTimeoutMs)
    waitingBytesBudget = gateway.configuration.waitingBytesBudget
    unreadBytesBudget = gateway.configuration.unreadBytesBudget
    limiter = ConnectionLimiter(
      connectionsMax: configuration.connectionsMax, perAddressMax: configuration.connectionsPerAddressMax,
      isExempt: { [proxies = configuration.trustedProxies] in proxies.trusts(host: $0) })
    let table = HTTPTable(methods: gateway.servedMethods, descriptorSet: DescriptorSet.serializedBytes)
    var files = configuration.servesClient ? ClientFiles.all : [:]
    let described = dialects.compactMap { $0 as? any DescribedDialect }
    files["/openapi.json"] = StaticFile(contentType: "application/json") { OpenAPIDocument.bytes(table, described) }
    console = gateway.configuration.consolePath.map { path in
      ConsoleFrontend(
        path: path, cookie: ConsoleCookie(isEncrypted: configuration.isEncrypted, hostGuard: configuration.hostGuard),
        sessions: gateway.sessions)
    }
    var allDialects = dialects
    if let console {
      files.merge(ConsoleFiles.files(at: console.path)) { _, file in file }
      allDialects.insert(ConsoleSignIn(console: console, issuer: gateway.issuerSignIn?.issuer), at: 0)
      if let issuer = gateway.issuerSignIn {
        allDialects.insert(ConsoleIssuerPages(console: console, issuer: issuer), at: 0)
      }
    }
    planner = HTTPPlanner(
      table: table, crossOrigin: configuration.crossOrigin, files: files, hostGuard: configuration.hostGuard,
      dialects: allDialects, redirects: console.map { [$0.path: "\($0.path.dropFirst())/"] } ?? [:])
  }

  /// Sends calls to `dispatcher` from now on. Calls that arrive earlier fail with UNAVAILABLE.
  ///
  /// - Parameter dispatcher: The gateway's dispatcher. One that is not a `HeadJudge` is ignored.
  public func attach(_ dispatcher: any CallDispatcher) {
    guard let judge = dispatcher as? any HeadJudge else { return }
    attached.withLock { $0 = Service(dispatcher: dispatcher, judge: judge) }
  }

  var service: Service? { attached.withLock { $0 } }

  /// Sets up a connection. Must be called on its event loop, which must be one of the gateway's.
  public func configure(_ channel: any Channel, operations: @escaping Operations) throws {
    let connection = HTTPConnection(
      frontend: self, connections: connections(on: channel.eventLoop), loop: channel.eventLoop, operations: operations)
    var limits = NIOHTTPDecoderLimitConfiguration()
    limits.maxHeaderFieldSize = configuration.headerBytesMax
    limits.maxHeaderListSize = configuration.headerBytesMax
    limits.maxHeaderFieldCount = configuration.headerCountMax
    let pipeline = channel.pipeline.syncOperations
    let gate = HTTPGate(connection)
    connection.gate = gate
    try pipeline.addHandler(gate)
    // The connection keeps the buffer of its first read, so start small; longer requests grow it.
    try channel.syncOptions?.setOption(
      .recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 64, initial: 1_024, maximum: 65_536))
    try pipeline.configureHTTPServerPipeline(
      withPipeliningAssistance: true, withErrorHandling: false, withOutboundHeaderValidation: true,
      withEncoderConfiguration: .init(), withDecoderLimitConfiguration: limits)
    try pipeline.addHandler(HTTPBypass())
    let compressionBytesMin = configuration.compressionBytesMin
    try pipeline.addHandler(
      HTTPResponseCompressor(initialByteBufferCapacity: 64) { head, isSupported in
        let length = head.headers.first(name: "content-length").flatMap { Int($0) } ?? 0
        // Ranges count uncompressed bytes. A response whose encoding is already negotiated keeps it.
        guard isSupported, length >= compressionBytesMin, !head.headers.contains(name: "accept-ranges"),
          !head.headers["vary"].contains("Accept-Encoding")
        else {
          return .doNotCompress
        }
        head.headers.add(name: "Vary", value: "Accept-Encoding")
        return .compressIfPossible
      })
    try pipeline.addHandler(connection)
  }

  private func connections(on loop: any EventLoop) -> HTTPConnections {
    connections.withLock { known in
      let key = ObjectIdentifier(loop)
      if let bound = known[key] { return bound }
      let shortest = [
        configuration.headerTimeoutMs, configuration.bodyTimeoutMs, configuration.strangerBodyTimeoutMs,
        configuration.idleTimeoutMs, configuration.pingMs,
      ].reduce(HTTPConnections.timeoutCheckIntervalMs * 4, min)
      let timeoutCheckIntervalMs = max(10, min(HTTPConnections.timeoutCheckIntervalMs, shortest / 4))
      let bound = NIOLoopBound(
        HTTPConnections(loop: loop, timeoutCheckIntervalMs: timeoutCheckIntervalMs), eventLoop: loop)
      known[key] = bound
      return bound
    }.value
  }
}
