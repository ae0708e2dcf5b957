import CampanileRPC

/// What a caller is told when a backend could not answer. It says nothing of addresses or links inside the suite.
enum BackendFailure {
  /// The answer for a failure that the gateway's own client found out.
  static func answer(_ error: RPCError, service: String) -> RPCError {
    switch error.code {
    case .deadlineExceeded:
      return RPCError(
        .deadlineExceeded, "the deadline passed before the call was answered", reason: "DEADLINE_EXCEEDED",
        processed: error.processed)
    case .resourceExhausted where error.reason == "FRAME_TOO_LARGE":
      return RPCError(
        .resourceExhausted, "the message is longer than \(service) takes", reason: "FRAME_TOO_LARGE",
        processed: error.processed)
    case .resourceExhausted where error.reason == "STREAM_OVERRUN":
      return RPCError(
        .internalError, "\(service) sent more messages than it was granted", reason: "BACKEND_PROTOCOL_VIOLATION")
    case .resourceExhausted:
      return RPCError(
        .resourceExhausted, "too many calls wait for \(service)", reason: "BACKEND_OVERLOADED", retryAfterMs: 100,
        processed: error.processed)
    case .invalidArgument: return error
    // Also when the backend refuses the gateway itself, for example its token: that is not the caller's fault.
    default:
      let lost = error.processed
      return RPCError(
        .unavailable,
        lost ? "the connection to \(service) was lost before it answered" : "\(service) cannot be reached",
        reason: lost ? "BACKEND_LOST" : "BACKEND_UNAVAILABLE", processed: error.processed)
    }
  }

  /// Whether an error speaks against the server that it came from.
  @inline(__always)
  static func isServerFault(_ error: RPCError) -> Bool {
    error.code == .unavailable || error.code == .internalError || error.reason == "STREAM_OVERRUN"
  }

  /// Whether another address may do better, and no handler has seen the call.
  static func mayTryAnother(_ error: RPCError) -> Bool {
    guard !error.processed else { return false }
    return error.code == .unavailable || error.code == .resourceExhausted && error.reason != "FRAME_TOO_LARGE"
  }

  static func circuitOpen(_ service: String, waitMs: Int64) -> RPCError {
    RPCError(
      .unavailable, "\(service) did not answer lately and is tried again soon", reason: "BACKEND_UNAVAILABLE",
      retryAfterMs: max(1, waitMs), processed: false)
  }

  /// Told to streams: their callers go on where they were, at another address.
  static func moved(_ service: String) -> RPCError {
    RPCError(.unavailable, "\(service) has moved to another address", reason: "BACKEND_DRAINING", retryAfterMs: 0)
  }

  static func streamNotAllowed(processed: Bool) -> RPCError {
    RPCError(
      .invalidArgument, "a streaming call needs an id and a frame of its own", reason: "STREAM_NOT_ALLOWED",
      processed: processed, protocolFailure: .invalidEnvelope)
  }
  static let streamUnexpected = RPCError(
    .invalidArgument, "the method takes one request, which are its params", reason: "STREAM_UNEXPECTED")
  static func slowConsumer(_ limit: Int) -> RPCError {
    RPCError(
      .resourceExhausted, "more than \(limit) bytes wait for the caller to read them",
      reason: "SLOW_CONSUMER")
  }
  static func slowBackend(_ service: String) -> RPCError {
    RPCError(.resourceExhausted, "\(service) does not read the stream fast enough", reason: "BACKEND_SLOW")
  }
}
