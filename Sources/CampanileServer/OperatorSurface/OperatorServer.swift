import CampanileHTTP
import Logging
import NIOCore
import NIOHTTP1
import ServiceLifecycle

/// The admin server: HTTP/1.1 on 127.0.0.1, regardless of the host that the executable listens on.
struct OperatorServer: Service {
  static let bodyBytesMax = 64 * 1024

  let port: Int
  /// Whether a port in use is an error. Otherwise, the system chooses another port.
  let isFixed: Bool
  var limits = PageLimits(connectionsMax: 32)
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
    let listener: HTTPListener
    do { listener = try await listen(on: port) } catch let error as IOError {
      guard !isFixed else {
        throw StartupError("cannot listen on admin port 127.0.0.1:\(port): \(error.reasonText)")
      }
      logger.warning(
        "the default admin port is in use; using another one",
        metadata: ["port": "\(port)", "error": "\(error.reasonText)"])
      listener = try await listen(on: 0)
    }
    onRunning(listener.port)
    await listener.serve()
  }

  private func listen(on port: Int) async throws -> HTTPListener {
    try await PageServer(limits, plan: plan).listen(host: "127.0.0.1", port: port, group: group)
  }

  @Sendable
  private func plan(_ head: HTTPRequestHead, _ peer: String?) -> PagePlan {
    let guarding = OperatorGuard(
      peer: peer, host: head.headers.first(name: "host"), hasOrigin: head.headers.contains(name: "origin"),
      fetchSite: head.headers.first(name: "sec-fetch-site"), method: head.method.rawValue,
      contentType: head.headers.joined("content-type"))
    if let refusal = guarding.refusal {
      return PagePlan { _ in PageResponse(.failure(refusal.status, refusal.rawValue)) }
    }
    let tooLarge = PageResponse(.failure(413, "the body exceeds \(Self.bodyBytesMax) bytes"))
    return PagePlan(bodyBytesMax: Self.bodyBytesMax, tooLarge: tooLarge) { request in
      PageResponse(await answer(AdminRoutes.Request(request)))
    }
  }

  private func answer(_ request: AdminRoutes.Request) async -> AdminRoutes.Response {
    for routes in routes {
      if let found = await routes(request) { return found }
    }
    return .failure(404, "unknown path \(request.path)")
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
