import CampanileBase
internal import CampanileRPC
internal import NIOCore
internal import NIOHTTP1
internal import NIOSSL

/// Sends unary calls with the Connect protocol (connectrpc.com/docs/protocol), as POST requests with JSON.
///
/// Each worker has its own connection, with one call at a time. A lost connection is opened again.
final class HTTPDriver: CallDriver {
  private let loop: any EventLoop
  private let target: HTTPTarget
  private let head: HTTPRequestText
  /// Shared by all connections; `nil` without TLS.
  private let sslContext: NIOSSLContext?
  private var connections: [Int: HTTPWorkerConnection] = [:]
  let isStreaming = false

  /// Creates a driver.
  ///
  /// - Throws: INVALID_ARGUMENT `TLS_CONFIGURATION_INVALID`; `LOAD_PLAN_INVALID` for invalid headers.
  init(
    _ target: HTTPTarget, method: String, metadata: Metadata, timeoutMs: Int64, loop: any EventLoop
  ) throws {
    self.loop = loop
    sslContext = try target.tls?.makeContext()
    self.target = target
    var headers = HTTPHeaders([
      ("host", HostPort(host: target.host, port: target.port).description),
      ("content-type", "application/json"), ("connect-protocol-version", "1"),
      ("connect-timeout-ms", String(timeoutMs)), ("user-agent", "campanile-load"),
    ])
    if let token = target.token { headers.add(name: "authorization", value: "Bearer \(token)") }
    for entry in metadata.entries { headers.add(name: entry.key, value: entry.value) }
    head = try HTTPRequestText(
      HTTPRequestHead(version: .http1_1, method: .POST, uri: "\(target.pathPrefix)/\(method)", headers: headers))
  }

  func start(_ worker: LoadWorker, timeoutMs: Int64) {
    let body = worker.request.isEmpty ? Array("{}".utf8) : worker.request
    connection(of: worker).send(body: body, timeoutMs: timeoutMs)
  }

  private func connection(of worker: LoadWorker) -> HTTPWorkerConnection {
    if let connection = connections[worker.index] { return connection }
    let connection = HTTPWorkerConnection(worker, head: head, target: target, sslContext: sslContext, loop: loop)
    connections[worker.index] = connection
    return connection
  }

  func cancel(_ worker: LoadWorker) { connections[worker.index]?.close() }

  func close() {
    for connection in connections.values { connection.close() }
    connections = [:]
  }
}
