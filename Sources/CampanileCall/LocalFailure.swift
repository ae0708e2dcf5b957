package import CampanileBase

/// Failures that the client itself detects.
package enum LocalFailure {
  package static let connectFailed = "CONNECT_FAILED"
  package static let connectTimeout = "CONNECT_TIMEOUT"
  package static let clientClosed = "CLIENT_CLOSED"
  package static let queueFull = "QUEUE_FULL"

  /// Returns whether a server that responds to `rpc.hello` with this error will do so again; waiting would only hide
  /// it.
  package static func isRefusal(_ error: RPCError) -> Bool {
    error.code == .unauthenticated || error.code == .permissionDenied || error.code == .failedPrecondition
  }

  package static func cancelled(processed: Bool = true) -> RPCError {
    RPCError(.cancelled, "the caller cancelled the call", reason: "CANCELLED", processed: processed)
  }

  package static func deadlineExceeded(processed: Bool, while doing: String? = nil) -> RPCError {
    RPCError(
      .deadlineExceeded, "the deadline has passed" + (doing.map { " while \($0)" } ?? ""), reason: "DEADLINE_EXCEEDED",
      processed: processed)
  }

  package static func closed(processed: Bool) -> RPCError {
    RPCError(.unavailable, "the client was closed", reason: clientClosed, processed: processed)
  }

  package static func full(_ what: String) -> RPCError {
    RPCError(.resourceExhausted, what, reason: queueFull, processed: false)
  }

  package static func frameTooLarge(_ sizeBytes: Int, _ limit: Int) -> RPCError {
    RPCError(
      .resourceExhausted, "the message's frame has \(sizeBytes) bytes, but the server accepts at most \(limit)",
      reason: "FRAME_TOO_LARGE", processed: false)
  }

  package static let draining = RPCError(
    .unavailable, "the server accepts no new calls", reason: "DRAINING", processed: false)

  package static let serverUnproven = RPCError(
    .unauthenticated,
    "the server did not prove that it knows the internal token: it is another program or an older version, or its token differs",
    reason: "SERVER_UNPROVEN", processed: false)

  package static func connectionLost(_ cause: String, processed: Bool) -> RPCError {
    RPCError(.unavailable, "the connection was lost: \(cause)", reason: "CONNECTION_LOST", processed: processed)
  }

  package static func peerMalformed(_ what: String) -> RPCError {
    RPCError(.unavailable, "the server violated the protocol: \(what)", reason: "PEER_MALFORMED")
  }
}
