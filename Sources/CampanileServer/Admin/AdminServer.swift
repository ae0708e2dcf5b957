#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif
import CampanileHTTP
import CampanileRPC
import NIOCore
import NIOHTTP1
import ServiceLifecycle

/// Serves the operations pages and an executable's routes over HTTP/1.1.
struct AdminServer: Service {
  let host: String
  let port: Int
  let pages: OperationsPages
  var routes: [AdminRoutes] = []
  /// Replaces this server's pages and routes, if not nil.
  var publicHTTP: PublicHTTPServer?
  /// TLS for the connections of `publicHTTP`.
  var tls: ServerTLSContext?
  /// Limits for connections if `publicHTTP` is nil.
  var limits = PageLimits()
  let group: any EventLoopGroup
  /// Called once with the port that the server listens on.
  let onRunning: @Sendable (Int) -> Void

  /// Serves until graceful shutdown.
  ///
  /// - Throws: `StartupError` if the server cannot listen on the address.
  func run() async throws {
    let listener: HTTPListener
    do { listener = try await listen() } catch let error as IOError {
      throw StartupError("cannot listen on \(host):\(port) for HTTP: \(error.reasonText)")
    }
    onRunning(listener.port)
    await listener.serve()
  }

  private func listen() async throws -> HTTPListener {
    guard let publicHTTP else {
      return try await PageServer(limits) { head, _ in plan(head) }.listen(host: host, port: port, group: group)
    }
    // Accept some more connections than the limiter admits, so that surplus callers get an error, and unauthenticated
    // connections can be closed in favour of others.
    return try await HTTPListener.listen(
      host: host, port: port, backlog: 4096, openMax: publicHTTP.limiter.connectionsMax + 16, group: group
    ) { channel in
      try tls?.install(on: channel)
      try publicHTTP.configure(channel) { await pages.health($0) }
    }
  }

  private func plan(_ head: HTTPRequestHead) -> PagePlan {
    // Repeated and trailing slashes do not count.
    let names = PageTarget(head.uri).path.split(separator: "/")
    let path = "/" + names.joined(separator: "/")
    if head.method == .GET, OperationsPages.paths.contains(path) {
      return PagePlan { _ in PageResponse(await pages.page(path) ?? .failure(404, "unknown path")) }
    }
    guard Self.methods.contains(head.method), let routes = routes.first(where: { path.hasPrefix($0.prefix + "/") })
    else { return PagePlan { _ in PageResponse.own(404) } }
    return PagePlan(bodyBytesMax: routes.bodyBytesMax, tooLarge: PageResponse.own(413)) { request in
      PageResponse(await routes.handle(AdminRoutes.Request(request)))
    }
  }

  private static let methods: [HTTPMethod] = [.GET, .POST, .PUT, .PATCH, .DELETE]
}

extension HTTPListener {
  /// Serves until graceful shutdown, which lets the responses in progress end. Cancellation closes all connections.
  func serve() async {
    await withTaskCancellationHandler {
      try? await gracefulShutdown()
      await drain()
    } onCancel: {
      closeAll()
    }
  }
}

extension AdminRoutes.Request {
  init(_ request: PageRequest) {
    let target = PageTarget(request.head.uri)
    self.init(
      method: request.head.method.rawValue, path: target.path, query: target.query,
      authorization: request.head.headers.joined("authorization"), body: Array(request.body.readableBytesView))
  }
}

extension PageResponse {
  init(_ response: AdminRoutes.Response) {
    self = .own(
      response.status, [("Content-Type", response.contentType), ("Cache-Control", "no-store")], response.body)
  }

  /// Creates a response with the headers that every response of the runtime has.
  static func own(_ status: Int, _ headers: [(name: String, value: String)] = [], _ body: [UInt8] = []) -> PageResponse
  {
    PageResponse(
      status: status, headers: headers + [("Date", WallClock.httpDate(WallClock.nowMs())), ("Server", "campanile")],
      body: body)
  }
}

extension HTTPHeaders {
  /// Returns the values of a header as one list; nil if the header is missing.
  func joined(_ name: String) -> String? {
    let values = self[name]
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }
}

extension IOError {
  /// The system's description of the error, without the name of the failed call.
  var reasonText: String { String(cString: strerror(errnoCode)) }
}
