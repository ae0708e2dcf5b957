#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif
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
  let group: any EventLoopGroup
  let logger: Logger
  /// Called once with the port that is listened on.
  let onRunning: @Sendable (Int) -> Void

  /// Serves until graceful shutdown. Throws `StartupError` when the address cannot be listened on.
  func run() async throws {
    var quiet = logger
    quiet.logLevel = max(logger.logLevel, .warning)
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
    do {
      try await application.run()
    } catch let error as IOError {
      throw StartupError("cannot listen on \(host):\(port) for HTTP: \(error.reasonText)")
    }
  }

  private func router() -> Router<BasicRequestContext> {
    let router = Router()
    router.get("/metrics") { [metrics] _, _ in
      Self.response(.ok, PrometheusText.contentType, metrics.exposition())
    }
    router.get("/healthz") { _, _ in
      Self.response(.ok, "text/plain; charset=utf-8", "ok\n")
    }
    router.get("/readyz") { [readiness] _, _ in
      let report = await readiness.report()
      return Self.response(
        report.isReady ? .ok : .serviceUnavailable, "application/json", Self.body(of: report))
    }
    for routes in routes {
      for method: HTTPRequest.Method in [.get, .post, .put, .patch, .delete] {
        router.on("\(routes.prefix)/**", method: method) { request, _ in try await Self.serve(request, routes) }
      }
    }
    return router
  }

  /// Hands a request to its routes when its body has come. Throws 413 when that is too long.
  private static func serve(_ request: Request, _ routes: AdminRoutes) async throws -> Response {
    let body = try await request.body.collect(upTo: routes.bodyBytesMax)
    let query = request.uri.queryParameters.map { (String($0.key), String($0.value)) }
    let answer = await routes.handle(
      AdminRoutes.Request(
        method: request.method.rawValue, path: request.uri.path, query: Dictionary(query) { _, last in last },
        authorization: request.headers[.authorization], body: Array(body.readableBytesView)))
    return Response(
      status: .init(code: answer.status), headers: [.contentType: answer.contentType, .cacheControl: "no-store"],
      body: .init(byteBuffer: ByteBuffer(bytes: answer.body)))
  }

  private static func response(_ status: HTTPResponse.Status, _ type: String, _ text: String) -> Response {
    Response(
      status: status, headers: [.contentType: type, .cacheControl: "no-store"],
      body: .init(byteBuffer: ByteBuffer(string: text)))
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
