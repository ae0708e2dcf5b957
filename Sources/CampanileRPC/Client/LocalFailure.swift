/// The failures that a client finds out itself.
enum LocalFailure {
  static let connectFailed = "CONNECT_FAILED"
  static let connectTimeout = "CONNECT_TIMEOUT"
  static let clientClosed = "CLIENT_CLOSED"
  static let queueFull = "QUEUE_FULL"

  /// Whether a server that answers `rpc.hello` with this will do so again, so that waiting would only hide it.
  static func isRefusal(_ error: RPCError) -> Bool {
    error.code == .unauthenticated || error.code == .permissionDenied || error.code == .failedPrecondition
  }

  static func cancelled(processed: Bool = true) -> RPCError {
    RPCError(.cancelled, "the caller cancelled the call", reason: "CANCELLED", processed: processed)
  }

  static func deadlineExceeded(processed: Bool, while doing: String? = nil) -> RPCError {
    RPCError(
      .deadlineExceeded, "the call's time is up" + (doing.map { " while \($0)" } ?? ""), reason: "DEADLINE_EXCEEDED",
      processed: processed)
  }

  static func closed(processed: Bool) -> RPCError {
    RPCError(.unavailable, "the client was closed", reason: clientClosed, processed: processed)
  }

  static func full(_ what: String) -> RPCError {
    RPCError(.resourceExhausted, what, reason: queueFull, processed: false)
  }

  static func frameTooLarge(_ sizeBytes: Int, _ limit: Int) -> RPCError {
    RPCError(
      .resourceExhausted, "the message's frame has \(sizeBytes) bytes, the server takes \(limit)",
      reason: "FRAME_TOO_LARGE", processed: false)
  }

  static let draining = RPCError(
    .unavailable, "the server takes no new calls here", reason: "DRAINING", processed: false)

  static func connectionLost(_ cause: String, processed: Bool) -> RPCError {
    RPCError(.unavailable, "the connection was lost: \(cause)", reason: "CONNECTION_LOST", processed: processed)
  }

  static func peerMalformed(_ what: String) -> RPCError {
    RPCError(.unavailable, "the server broke the protocol: \(what)", reason: "PEER_MALFORMED")
  }
}
