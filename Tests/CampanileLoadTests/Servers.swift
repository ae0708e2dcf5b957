import CampanileAPI
import CampanileRPC
import Echo
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

@testable import CampanileLoad

/// Servers for load tests.
enum Servers {
  /// Runs the echo service with the suite's RPC protocol.
  static func withEcho<R>(_ body: (ClientConfiguration) async throws -> R) async throws -> R {
    var registry = MethodRegistry()
    EchoService().register(in: &registry)
    let server = RPCServer(
      ServerConfiguration(logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }),
      dispatcher: TypedDispatcher(registry), authenticator: InternalTokenAuthenticator(token: "secret"),
      group: MultiThreadedEventLoopGroup.singleton)
    let address = try await server.start()
    let result: Result<R, any Error>
    do {
      var configuration = ClientConfiguration(host: "127.0.0.1", port: address.port ?? 0)
      configuration.token = "secret"
      result = .success(try await body(configuration))
    } catch {
      result = .failure(error)
    }
    await server.shutdown()
    return try result.get()
  }

  /// Runs an HTTP/1.1 server, with TLS if `tls` is not nil.
  ///
  /// - Parameter answer: Returns the response for a path and body, or nil for no response.
  static func withHTTP<R>(
    tls: NIOSSLContext? = nil, _ answer: @escaping @Sendable (String, String) -> HTTPAnswer?,
    _ body: (Int) async throws -> R
  ) async throws -> R {
    // A single thread, so that a delayed response delays all others.
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let channel = try await ServerBootstrap(group: group)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandler(HTTPAnswerer(answer))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let result: Result<R, any Error>
    do { result = .success(try await body(channel.localAddress?.port ?? 0)) } catch { result = .failure(error) }
    try await channel.close()
    try await group.shutdownGracefully()
    return try result.get()
  }
}

struct HTTPAnswer: Sendable {
  var status = 200
  var body = "{}"
  var closes = false
}

/// Responds to requests with `answer`; nil leaves a request without a response.
private final class HTTPAnswerer: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let answer: @Sendable (String, String) -> HTTPAnswer?
  private var path = ""
  private var body = ""

  init(_ answer: @escaping @Sendable (String, String) -> HTTPAnswer?) { self.answer = answer }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      path = "\(head.method.rawValue) \(head.uri) \(head.headers.first(name: "authorization") ?? "")"
      body = ""
    case .body(let bytes): body += String(buffer: bytes)
    case .end:
      guard let answer = answer(path, body) else { return }
      var headers = HTTPHeaders([("content-length", String(answer.body.utf8.count))])
      if answer.closes { headers.add(name: "connection", value: "close") }
      let head = HTTPResponseHead(
        version: .http1_1, status: HTTPResponseStatus(statusCode: answer.status), headers: headers)
      context.write(wrapOutboundOut(.head(head)), promise: nil)
      context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: answer.body)))), promise: nil)
      context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
      if answer.closes { context.close(promise: nil) }
    }
  }
}
