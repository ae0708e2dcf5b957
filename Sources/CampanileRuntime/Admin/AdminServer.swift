#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif
import CampanileRPC
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle

/// Serves the operations pages and an executable's routes over HTTP/1.1.
struct AdminServer: Service {
  let host: String
  let port: Int
  let pages: OperationsPages
  var routes: [AdminRoutes] = []
  /// Replaces this server's router, if not nil.
  var publicHTTP: PublicHTTPServer?
  /// TLS for the connections of `publicHTTP`.
  var tls: ServerTLSContext?
  /// Limits for connections if `publicHTTP` is nil.
  var limits = AdminConnectionLimits()
  let group: any EventLoopGroup
  let logger: Logger
  /// Called once with the port that the server listens on.
  let onRunning: @Sendable (Int) -> Void

  /// Serves until graceful shutdown.
  ///
  /// - Throws: `StartupError` if the server cannot listen on the address.
  func run() async throws {
    var quiet = logger
    quiet.logLevel = max(logger.logLevel, .warning)
    if let publicHTTP { return try await run(publicHTTP, quiet) }
    let application = Application(
      router: router(),
      server: AdminConnections(limits).server,
      configuration: ApplicationConfiguration(address: .hostname(host, port: port), serverName: "campanile"),
      onServerRunning: { onRunning($0.localAddress?.port ?? port) },
      eventLoopGroupProvider: .shared(group),
      logger: quiet)
    try await listening { try await application.run() }
  }

  private func run(_ publicHTTP: PublicHTTPServer, _ quiet: Logger) async throws {
    // Accept some more connections than the limiter admits, so that surplus callers get an error, and unauthenticated
    // connections can be closed in favour of others.
    let server = PublicHTTPChannel(publicHTTP: publicHTTP, tls: tls, operations: { await pages.health($0) }).server(
      configuration: .init(
        address: .hostname(host, port: port), serverName: "campanile", backlog: 4096,
        availableConnectionsDelegate: MaximumAvailableConnections(publicHTTP.limiter.connectionsMax + 16)),
      onServerRunning: { onRunning($0.localAddress?.port ?? port) }, eventLoopGroup: group, logger: quiet)
    try await listening { try await server.run() }
  }

  private func listening(_ body: () async throws -> Void) async throws {
    do { try await body() } catch let error as IOError {
      throw StartupError("cannot listen on \(host):\(port) for HTTP: \(error.reasonText)")
    }
  }

  private func router() -> Router<BasicRequestContext> {
    let router = Router()
    for path in OperationsPages.paths {
      router.get(RouterPath(path)) { _, _ in await pages.page(path).map(Self.response) ?? Response(status: .notFound) }
    }
    for routes in routes {
      for method: HTTPRequest.Method in [.get, .post, .put, .patch, .delete] {
        router.on("\(routes.prefix)/**", method: method) { request, _ in try await Self.serve(request, routes) }
      }
    }
    return router
  }

  private static func serve(_ request: Request, _ routes: AdminRoutes) async throws -> Response {
    response(await routes.handle(try await whole(request, bodyBytesMax: routes.bodyBytesMax)))
  }

  /// Collects the body of a request.
  ///
  /// - Throws: 413 if the body is too large.
  static func whole(_ request: Request, bodyBytesMax: Int) async throws -> AdminRoutes.Request {
    let body = try await request.body.collect(upTo: bodyBytesMax)
    let query = request.uri.queryParameters.map { (String($0.key), String($0.value)) }
    return AdminRoutes.Request(
      method: request.method.rawValue, path: request.uri.path, query: Dictionary(query) { _, last in last },
      authorization: request.headers[.authorization], body: Array(body.readableBytesView))
  }

  static func response(_ answer: AdminRoutes.Response) -> Response {
    Response(
      status: .init(code: answer.status), headers: [.contentType: answer.contentType, .cacheControl: "no-store"],
      body: .init(byteBuffer: ByteBuffer(bytes: answer.body)))
  }
}

extension IOError {
  /// The system's description of the error, without the name of the failed call.
  var reasonText: String { String(cString: strerror(errnoCode)) }
}
