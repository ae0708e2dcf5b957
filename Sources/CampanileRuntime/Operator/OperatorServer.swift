import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle

/// Serves the operator's surface over HTTP/1.1 on 127.0.0.1, whatever host the executable listens on.
struct OperatorServer: Service {
  static let maximumConnections = 32
  static let bodyBytesMax = 64 * 1024

  let port: Int
  /// Whether a port that is taken is an error; else the system picks one.
  let isFixed: Bool
  /// Tried in turn; the first that knows the path answers.
  let routes: [@Sendable (AdminRoutes.Request) async -> AdminRoutes.Response?]
  let group: any EventLoopGroup
  let logger: Logger
  /// Called once with the port that is listened on.
  let onRunning: @Sendable (Int) -> Void

  /// Serves until graceful shutdown. Throws `StartupError` when the port cannot be listened on.
  func run() async throws {
    do { try await serve(on: port) } catch let error as IOError {
      guard !isFixed else {
        throw StartupError("cannot listen on 127.0.0.1:\(port) for the operator: \(error.reasonText)")
      }
      logger.warning(
        "the operator's port is taken: another one is used",
        metadata: ["port": "\(port)", "error": "\(error.reasonText)"])
      try await serve(on: 0)
    }
  }

  private func serve(on port: Int) async throws {
    var quiet = logger
    quiet.logLevel = max(logger.logLevel, .warning)
    let application = Application(
      responder: CallbackResponder<OperatorContext> { request, context in try await answer(request, context) },
      server: .http1(configuration: .init(idleTimeout: .seconds(60))),
      configuration: ApplicationConfiguration(
        address: .hostname("127.0.0.1", port: port), serverName: "campanile",
        availableConnectionsDelegate: MaximumAvailableConnections(Self.maximumConnections)),
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
      return AdminServer.response(.failure(413, "a body has at most \(Self.bodyBytesMax) bytes"))
    }
    for routes in routes {
      if let found = await routes(whole) { return AdminServer.response(found) }
    }
    return AdminServer.response(.failure(404, "there is no \(whole.path) here"))
  }
}

/// Knows who is asking.
struct OperatorContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let peer: String?

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    peer = source.channel.remoteAddress?.ipAddress
  }
}

extension AdminRoutes.Response {
  /// `{"error":"…"}`.
  public static func failure(_ status: Int, _ message: String) -> AdminRoutes.Response {
    var text = JSONText()
    text.raw("{\"error\":")
    text.string(message, maximumBytes: 4096)
    text.raw("}\n")
    return AdminRoutes.Response(status: status, body: text.bytes)
  }
}
