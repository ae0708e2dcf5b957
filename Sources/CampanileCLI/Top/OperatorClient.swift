internal import CampanileRPC
internal import Foundation
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// Asks the operator's surface of an executable on this machine.
struct OperatorClient: Sendable {
  /// The longest answer that is read.
  static let bodyBytesMax = 64 << 20
  static let timeoutMs: Int64 = 5_000

  var host: String
  var port: Int

  /// The body that a path answers with 200. Throws UNAVAILABLE when nothing listens, DEADLINE_EXCEEDED after 5 s, and
  /// FAILED_PRECONDITION for another status.
  func get(_ path: String) async throws -> [UInt8] {
    try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
      group.addTask { try await fetch(path) }
      group.addTask {
        try await Task.sleep(for: .milliseconds(Self.timeoutMs))
        return nil
      }
      defer { group.cancelAll() }
      guard let body = try await group.next() ?? nil else {
        throw RPCError(.deadlineExceeded, "\(host):\(port) does not answer", reason: "DEADLINE_EXCEEDED")
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
        "nothing answers for the operator at \(host):\(port): is the gateway running, with --admin-enabled?",
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
          throw RPCError(.resourceExhausted, "the answer is too long", reason: "ANSWER_TOO_LONG")
        }
      case .end:
        guard status == .ok else {
          let text = Terminal.printable(String(decoding: body.prefix(300), as: UTF8.self))
          throw RPCError(.failedPrecondition, "\(status): \(text)", reason: "OPERATOR_REFUSED")
        }
        return body
      }
    }
    throw RPCError(.unavailable, "the connection ended before the answer", reason: "CONNECTION_CLOSED")
  }
}
