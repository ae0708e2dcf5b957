import CampanileBase
internal import CampanileRPC
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// An HTTP client for the admin port of an executable on this machine.
struct OperatorClient: Sendable {
  /// Maximum size of a response body in bytes.
  static let bodyBytesMax = 64 << 20
  static let timeoutMs: Int64 = 5_000

  var host: String
  var port: Int

  /// Returns the body of a response with status 200.
  ///
  /// - Throws: `RPCError`: UNAVAILABLE if the connection fails, DEADLINE_EXCEEDED after 5 s, RESOURCE_EXHAUSTED if the
  ///   body is too large, and FAILED_PRECONDITION for any other status.
  func get(_ path: String) async throws -> [UInt8] {
    try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
      group.addTask { try await fetch(path) }
      group.addTask {
        try await Task.sleep(for: .milliseconds(Self.timeoutMs))
        return nil
      }
      defer { group.cancelAll() }
      guard let body = try await group.next() ?? nil else {
        throw RPCError(.deadlineExceeded, "\(host):\(port) does not respond", reason: "DEADLINE_EXCEEDED")
      }
      return body
    }
  }

  private func fetch(_ path: String) async throws -> [UInt8] {
    let connection: NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>
    do {
      connection = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connectTimeout(.milliseconds(Self.timeoutMs))
        .connect(host: host, port: port) { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHTTPClientHandlers()
            return try NIOAsyncChannel(wrappingChannelSynchronously: channel)
          }
        }
    } catch {
      throw RPCError(
        .unavailable,
        "no admin server at \(host):\(port): is the gateway running with --admin-enabled?",
        reason: "CONNECT_FAILED")
    }
    return try await connection.executeThenClose { inbound, outbound in
      let name = host.contains(":") ? "[\(host)]" : host
      let headers: HTTPHeaders = ["Host": "\(name):\(port)", "Connection": "close"]
      try await outbound.write(.head(HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: headers)))
      try await outbound.write(.end(nil))
      return try await Self.body(of: inbound)
    }
  }

  private static func body(of inbound: NIOAsyncChannelInboundStream<HTTPClientResponsePart>) async throws -> [UInt8] {
    var status = HTTPResponseStatus.ok
    var body: [UInt8] = []
    for try await part in inbound {
      switch part {
      case .head(let head): status = head.status
      case .body(let bytes):
        body += bytes.readableBytesView
        guard body.count <= bodyBytesMax else {
          throw RPCError(.resourceExhausted, "the response is too long", reason: "ANSWER_TOO_LONG")
        }
      case .end:
        guard status == .ok else {
          let text = Terminal.printable(String(decoding: body.prefix(300), as: UTF8.self))
          throw RPCError(.failedPrecondition, "\(status): \(text)", reason: "OPERATOR_REFUSED")
        }
        return body
      }
    }
    throw RPCError(.unavailable, "the connection was closed before the response", reason: "CONNECTION_CLOSED")
  }
}
