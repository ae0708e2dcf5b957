public import CampanileRPC
public import NIOCore
import CampanileAPI
import NIOHTTP1
import NIOHTTPCompression
import Synchronization

/// The gateway's methods over HTTP/1.1: the Connect protocol, REST by the protos' rules, and event streams.
///
/// Give it the dispatcher of the RPC side by `attach`, and each accepted connection by `configure`: calls of both sides take the
/// same way from there on.
public final class HTTPFace: Sendable {
  /// Answers `/metrics`, `/healthz` and `/readyz`; `nil` for what it does not have.
  public typealias Operations = @Sendable (_ path: String) async -> HTTPAnswer?

  let configuration: HTTPConfiguration
  let planner: HTTPPlanner
  let loops = CallLoops()
  private let connections: Mutex<[ObjectIdentifier: NIOLoopBound<HTTPConnections>]> = Mutex([:])
  private let attached = Mutex<(any CallDispatcher)?>(nil)
  public var connectionsMax: Int { configuration.connectionsMax }
  /// What the protos' rules say and cannot be served.
  public var faults: [String] { planner.table.faults }

  init(
    _ configuration: HTTPConfiguration, methods: [MethodDescriptor], descriptorSet: [UInt8],
    nowMs: @escaping @Sendable () -> Int64,
    credentialFault: @escaping @Sendable (Metadata) -> RPCError?
  ) {
    self.configuration = configuration
    let table = HTTPTable(methods: methods, descriptorSet: descriptorSet)
    planner = HTTPPlanner(
      table: table, crossOrigin: configuration.crossOrigin, openAPI: OpenAPIDocument(table).bytes,
      bodyBytesMax: configuration.bodyBytesMax, dialects: Self.dialects(configuration, nowMs: nowMs),
      credentialFault: credentialFault)
  }

  private static func dialects(
    _ configuration: HTTPConfiguration, nowMs: @escaping @Sendable () -> Int64
  ) -> [any HTTPDialect] {
    Dialect.allCases.filter { configuration.dialects.contains($0) }.map { dialect -> any HTTPDialect in
      switch dialect {
      case .kilwinning: KilwinningDialect(isCookieSecure: configuration.areCookiesSecure, nowMs: nowMs)
      case .zentik: ZentikDialect(nowMs: nowMs)
      case .firebase: FirebaseDialect(settings: configuration.firebase, nowMs: nowMs)
      }
    }
  }

  /// Calls go to `dispatcher` from now on; before, they are answered UNAVAILABLE.
  public func attach(_ dispatcher: any CallDispatcher) { attached.withLock { $0 = dispatcher } }

  var dispatcher: (any CallDispatcher)? { attached.withLock { $0 } }

  /// Sets up a connection. Must be called on its event loop, which must be one of the gateway's.
  public func configure(_ channel: any Channel, operations: @escaping Operations) throws {
    let connection = HTTPConnection(
      face: self, connections: connections(on: channel.eventLoop), loop: channel.eventLoop, operations: operations)
    var limits = NIOHTTPDecoderLimitConfiguration()
    limits.maxHeaderFieldSize = configuration.headerBytesMax
    limits.maxHeaderListSize = configuration.headerBytesMax
    limits.maxHeaderFieldCount = configuration.headerCountMax
    let pipeline = channel.pipeline.syncOperations
    let gate = HTTPGate(connection)
    connection.gate = gate
    try pipeline.addHandler(gate)
    // The first read's buffer stays with the connection; a longer request has it grow.
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
        // A range counts the bytes as they are.
        guard isSupported, length >= compressionBytesMin, !head.headers.contains(name: "accept-ranges") else {
          return .doNotCompress
        }
        head.headers.add(name: "Vary", value: "Accept-Encoding")
        return .compressIfPossible
      })
    try pipeline.addHandler(NIOHTTPRequestDecompressor(limit: .size(configuration.bodyBytesMax)))
    try pipeline.addHandler(connection)
  }

  private func connections(on loop: any EventLoop) -> HTTPConnections {
    connections.withLock { known in
      let key = ObjectIdentifier(loop)
      if let bound = known[key] { return bound }
      let shortest = min(
        configuration.headerTimeoutMs, configuration.bodyTimeoutMs, configuration.idleTimeoutMs, configuration.pingMs)
      let sweepMs = max(10, min(HTTPConnections.sweepMs, shortest / 4))
      let bound = NIOLoopBound(HTTPConnections(loop: loop, sweepMs: sweepMs), eventLoop: loop)
      known[key] = bound
      return bound
    }.value
  }
}
