internal import CampanileRPC
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL

/// Sends unary calls as the Connect protocol asks (connectrpc.com/docs/protocol): POST with JSON, one at a time on each connection.
/// Each lane has a connection of its own, which is opened again when it is lost.
final class HTTPDriver: CallDriver {
  private let loop: any EventLoop
  private let target: HTTPTarget
  private let head: HTTPRequestText
  /// Shared by all connections; `nil` without TLS.
  private let sslContext: NIOSSLContext?
  private var connections: [Int: HTTPLaneConnection] = [:]
  let isStreaming = false

  /// Throws INVALID_ARGUMENT `TLS_CONFIGURATION_INVALID`, or `LOAD_PLAN_INVALID` for headers that cannot be sent.
  init(
    _ target: HTTPTarget, method: String, metadata: Metadata, timeoutMs: Int64, loop: any EventLoop
  ) throws {
    self.loop = loop
    sslContext = try target.tls?.makeContext()
    self.target = target
    var headers = HTTPHeaders([
      ("host", ClientConfiguration.Address(host: target.host, port: target.port).description),
      ("content-type", "application/json"), ("connect-protocol-version", "1"),
      ("connect-timeout-ms", String(timeoutMs)), ("user-agent", "campanile-load"),
    ])
    if let token = target.token { headers.add(name: "authorization", value: "Bearer \(token)") }
    for entry in metadata.entries { headers.add(name: entry.key, value: entry.value) }
    head = try HTTPRequestText(
      HTTPRequestHead(version: .http1_1, method: .POST, uri: "\(target.pathPrefix)/\(method)", headers: headers))
  }

  func start(_ lane: LoadLane, timeoutMs: Int64) {
    let body = lane.request.isEmpty ? Array("{}".utf8) : lane.request
    connection(of: lane).send(body: body, timeoutMs: timeoutMs)
  }

  private func connection(of lane: LoadLane) -> HTTPLaneConnection {
    if let connection = connections[lane.index] { return connection }
    let connection = HTTPLaneConnection(lane, head: head, target: target, sslContext: sslContext, loop: loop)
    connections[lane.index] = connection
    return connection
  }

  func cancel(_ lane: LoadLane) { connections[lane.index]?.close() }

  func close() {
    for connection in connections.values { connection.close() }
    connections = [:]
  }
}
