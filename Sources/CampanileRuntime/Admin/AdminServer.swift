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

/// Serves `/metrics`, `/healthz` and `/readyz` over HTTP/1.1.
///
/// - `/metrics`: the Prometheus text format 0.0.4.
/// - `/healthz`: 200 as long as the process answers.
/// - `/readyz`: 200 when every readiness check holds and the server is not draining, otherwise 503; both with a JSON
///   object `{"status":"ready","checks":{"server":"ok",…}}`.
struct AdminServer: Service {
  /// Connections open at once; more wait in the backlog.
  static let maximumConnections = 256

  let host: String
  let port: Int
  let metrics: MetricsRegistry
  let readiness: ReadinessRegistry
  var routes: [AdminRoutes] = []
  /// Serves everything in the place of this server's router.
  var frontEnd: HTTPFrontEnd?
  /// What the front end's connections are encrypted with.
  var tls: ServerTLSContext?
  let group: any EventLoopGroup
  let logger: Logger
  /// Called once with the port that is listened on.
  let onRunning: @Sendable (Int) -> Void

  /// Serves until graceful shutdown. Throws `StartupError` when the address cannot be listened on.
  func run() async throws {
    var quiet = logger
    quiet.logLevel = max(logger.logLevel, .warning)
    if let frontEnd { return try await run(frontEnd, quiet) }
    let application = Application(
      router: router(),
      server: .http1(
        configuration: .init(
          idleTimeout: .seconds(60),
          httpDecoderConfiguration: .init(
            maxHeaderFieldSize: 8192, maxHeaderListSize: 16_384, maxHeaderFieldCount: 64))),
      configuration: ApplicationConfiguration(
        address: .hostname(host, port: port), serverName: "campanile",
        availableConnectionsDelegate: MaximumAvailableConnections(Self.maximumConnections)),
      onServerRunning: { onRunning($0.localAddress?.port ?? port) },
      eventLoopGroupProvider: .shared(group),
      logger: quiet)
    try await listening { try await application.run() }
  }

  private func run(_ frontEnd: HTTPFrontEnd, _ quiet: Logger) async throws {
    let server = FrontEndChannel(frontEnd: frontEnd, tls: tls, operations: { await answer($0) }).server(
      configuration: .init(
        address: .hostname(host, port: port), serverName: "campanile", backlog: 4096,
        availableConnectionsDelegate: MaximumAvailableConnections(frontEnd.connectionsMax)),
      onServerRunning: { onRunning($0.localAddress?.port ?? port) }, eventLoopGroup: group, logger: quiet)
    try await listening { try await server.run() }
  }

  private func listening(_ body: () async throws -> Void) async throws {
    do { try await body() } catch let error as IOError {
      throw StartupError("cannot listen on \(host):\(port) for HTTP: \(error.reasonText)")
    }
  }

  /// `/metrics`, `/healthz` and `/readyz`.
  private func answer(_ path: String) async -> AdminRoutes.Response? {
    switch path {
    case "/metrics":
      return AdminRoutes.Response(
        status: 200, contentType: PrometheusText.contentType, body: Array(metrics.exposition().utf8))
    case "/healthz":
      return AdminRoutes.Response(status: 200, contentType: "text/plain; charset=utf-8", body: Array("ok\n".utf8))
    case "/readyz":
      let report = await readiness.report()
      return AdminRoutes.Response(status: report.isReady ? 200 : 503, body: Array(Self.body(of: report).utf8))
    default: return nil
    }
  }

  private func router() -> Router<BasicRequestContext> {
    let router = Router()
    for path in ["/metrics", "/healthz", "/readyz"] {
      router.get(RouterPath(path)) { _, _ in await answer(path).map(Self.response) ?? Response(status: .notFound) }
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

  /// The request when its body has come. Throws 413 when that is too long.
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

  static func body(of report: ReadinessRegistry.Report) -> String {
    var text = JSONText()
    text.raw("{\"status\":")
    text.string(report.isReady ? "ready" : "not ready")
    text.raw(",\"checks\":{")
    for (index, (name, problem)) in report.problems.sorted(by: { $0.key < $1.key }).enumerated() {
      if index > 0 { text.raw(",") }
      text.string(name)
      text.raw(":")
      text.string(problem ?? "ok")
    }
    text.raw("}}\n")
    return String(decoding: text.bytes, as: UTF8.self)
  }
}

extension IOError {
  /// The system's own words for the error, without the call that met it.
  var reasonText: String { String(cString: strerror(errnoCode)) }
}
