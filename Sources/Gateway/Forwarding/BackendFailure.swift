import CampanileBase
import CampanileRPC

/// Errors for callers when a backend did not respond. They reveal no addresses or links inside the suite.
enum BackendFailure {
  /// Returns the caller's error for a failure detected by the gateway's own client.
  static func answer(_ error: RPCError, service: String) -> RPCError {
    switch error.code {
    case .deadlineExceeded:
      return RPCError(
        .deadlineExceeded, "the deadline passed before the call was answered", reason: "DEADLINE_EXCEEDED",
        processed: error.processed)
    case .resourceExhausted where error.reason == "FRAME_TOO_LARGE":
      return RPCError(
        .resourceExhausted, "the message is longer than \(service) accepts", reason: "FRAME_TOO_LARGE",
        processed: error.processed)
    case .resourceExhausted where error.reason == "STREAM_OVERRUN":
      return RPCError(
        .internalError, "\(service) exceeded the credit of a stream", reason: "BACKEND_PROTOCOL_VIOLATION")
    case .resourceExhausted:
      return RPCError(
        .resourceExhausted, "too many calls wait for \(service)", reason: "BACKEND_OVERLOADED", retryAfterMs: 100,
        processed: error.processed)
    case .invalidArgument: return error
    // Includes a backend that rejects the gateway itself, for example its token: that is not the caller's fault.
    default:
      let lost = error.processed
      return RPCError(
        .unavailable,
        lost ? "the connection to \(service) was lost before it responded" : "\(service) cannot be reached",
        reason: lost ? "BACKEND_LOST" : "BACKEND_UNAVAILABLE", processed: error.processed)
    }
  }

  /// Reports whether an error counts against the server that returned it.
  @inline(__always)
  static func isServerFault(_ error: RPCError) -> Bool {
    error.code == .unavailable || error.code == .internalError || error.reason == "STREAM_OVERRUN"
  }

  /// Reports whether another address may succeed, and no handler has seen the call.
  static func mayTryAnother(_ error: RPCError) -> Bool {
    guard !error.processed else { return false }
    return error.code == .unavailable || error.code == .resourceExhausted && error.reason != "FRAME_TOO_LARGE"
  }

  static func circuitOpen(_ service: String, waitMs: Int64) -> RPCError {
    RPCError(
      .unavailable, "\(service) is not responding; retry later", reason: "BACKEND_UNAVAILABLE",
      retryAfterMs: max(1, waitMs), processed: false)
  }

  /// Sent on streams, whose callers resume at another gateway.
  static let draining = RPCError(.unavailable, "the gateway is shutting down", reason: "GATEWAY_DRAINING")

  /// Sent on streams, whose callers resume at another address.
  static func moved(_ service: String) -> RPCError {
    RPCError(.unavailable, "\(service) has moved to another address", reason: "BACKEND_DRAINING", retryAfterMs: 0)
  }

  static func streamNotAllowed(processed: Bool) -> RPCError {
    RPCError(
      .invalidArgument, "a streaming call needs a frame of its own, outside of a batch", reason: "STREAM_NOT_ALLOWED",
      processed: processed, protocolFailure: .invalidEnvelope)
  }
  static let streamUnexpected = RPCError(
    .invalidArgument, "the method takes one request, which are its params", reason: "STREAM_UNEXPECTED")
  static func slowConsumer(_ limit: Int) -> RPCError {
    RPCError(
      .resourceExhausted, "more than \(limit) bytes wait for the caller to read them",
      reason: "SLOW_CONSUMER")
  }
}
