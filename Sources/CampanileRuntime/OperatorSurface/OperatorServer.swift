import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle

/// The admin server: HTTP/1.1 on 127.0.0.1, regardless of the host that the executable listens on.
struct OperatorServer: Service {
  static let bodyBytesMax = 64 * 1024

  let port: Int
  /// Whether a port in use is an error. Otherwise, the system chooses another port.
  let isFixed: Bool
  var limits = AdminConnectionLimits(connectionsMax: 32)
  /// Handlers, tried in order. The first that knows the path handles the request.
  let routes: [@Sendable (AdminRoutes.Request) async -> AdminRoutes.Response?]
  let group: any EventLoopGroup
  let logger: Logger
  /// Called once with the port that the server listens on.
  let onRunning: @Sendable (Int) -> Void

  /// Serves until graceful shutdown.
  ///
  /// - Throws: `StartupError` if the server cannot listen on a fixed port.
  func run() async throws {
    do { try await serve(on: port) } catch let error as IOError {
      guard !isFixed else {
        throw StartupError("cannot listen on admin port 127.0.0.1:\(port): \(error.reasonText)")
      }
      logger.warning(
        "the default admin port is in use; using another one",
        metadata: ["port": "\(port)", "error": "\(error.reasonText)"])
      try await serve(on: 0)
    }
  }

  private func serve(on port: Int) async throws {
    var quiet = logger
    quiet.logLevel = max(logger.logLevel, .warning)
    let application = Application(
      responder: CallbackResponder<OperatorContext> { request, context in try await answer(request, context) },
      server: AdminConnections(limits).server,
      configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port), serverName: "campanile"),
      onServerRunning: { onRunning($0.localAddress?.port ?? port) }, eventLoopGroupProvider: .shared(group),
      logger: quiet)
    try await application.run()
  }

  private func answer(_ request: Request, _ context: OperatorContext) async throws -> Response {
    let guarding = OperatorGuard(
      peer: context.peer, host: request.head.authority, hasOrigin: request.headers[.origin] != nil,
      fetchSite: request.headers.first { $0.name.canonicalName == "sec-fetch-site" }?.value,
      method: request.method.rawValue,
      contentType: request.headers[.contentType])
    if let refusal = guarding.refusal {
      return AdminServer.response(.failure(refusal.status, refusal.rawValue))
    }
    guard let whole = try? await AdminServer.whole(request, bodyBytesMax: Self.bodyBytesMax) else {
      return AdminServer.response(.failure(413, "the body exceeds \(Self.bodyBytesMax) bytes"))
    }
    for routes in routes {
      if let found = await routes(whole) { return AdminServer.response(found) }
    }
    return AdminServer.response(.failure(404, "unknown path \(whole.path)"))
  }
}

/// A request context with the peer's IP address.
struct OperatorContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let peer: String?

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    peer = source.channel.remoteAddress?.ipAddress
  }
}

extension AdminRoutes.Response {
  /// Creates an error response with the body `{"error":"…"}`.
  public static func failure(_ status: Int, _ message: String) -> AdminRoutes.Response {
    var text = JSONText()
    text.raw("{\"error\":")
    text.string(message, maximumBytes: 4096)
    text.raw("}\n")
    return AdminRoutes.Response(status: status, body: text.bytes)
  }
}
