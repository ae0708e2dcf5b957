import CampanileBase
import CampanileRPC
import Synchronization

/// Refuses calls without a known key, and gives the handler the key's principal.
struct Keys: ServerInterceptor {
  let principals: [String: Principal]

  func intercept<Response: Sendable>(
    _ context: CallContext, next: NextHandler<Response>
  ) async throws -> Response {
    guard let key = context.metadata["x-key"], let principal = principals[key] else {
      throw RPCError(.unauthenticated, "the key in x-key is unknown", reason: "KEY_UNKNOWN")
    }
    var context = context
    context.principal = principal
    return try await next(context)
  }
}

/// Sends a key with each call.
struct WithKey: ClientInterceptor {
  let key: String

  func intercept<Response: Sendable>(_ call: OutgoingCall, next: NextCall<Response>) async throws -> Response {
    var call = call
    call.options.metadata.set(key, for: "x-key")
    return try await next(call)
  }
}

/// Refuses the first call before its handler has run, as a busy server would.
final class BusyAtFirst: ServerInterceptor {
  private let hasRefused = Atomic(false)

  func intercept<Response: Sendable>(
    _ context: CallContext, next: NextHandler<Response>
  ) async throws -> Response {
    guard hasRefused.exchange(true, ordering: .relaxed) else {
      print("refusing \(context.method.name)")
      throw RPCError(
        .resourceExhausted, "too many calls", reason: "BUSY", retryAfter: .milliseconds(20), processed: false)
    }
    return try await next(context)
  }
}

/// Repeats unary calls that a busy server has not processed or that may run twice, after the delay that it requests.
///
/// The client itself repeats calls that end with UNAVAILABLE (`RetryPolicy`).
struct RepeatingWhenBusy: ClientInterceptor {
  var attemptsMax = 3

  func intercept<Response: Sendable>(_ call: OutgoingCall, next: NextCall<Response>) async throws -> Response {
    for _ in 1..<attemptsMax {
      do {
        return try await next(call)
      } catch let error as RPCError where error.code == .resourceExhausted && call.method.kind == .unary {
        guard let retryAfter = error.retryAfter, !error.processed || call.method.idempotency.allowsRetry else {
          throw error
        }
        try await Task.sleep(for: retryAfter)
      }
    }
    return try await next(call)
  }
}

/// Limits the calls that a handler makes to the time that its own caller has left.
///
/// The server's part keeps the deadline for the handler's task; the client's part reads it.
struct DeadlinePropagation: ServerInterceptor, ClientInterceptor {
  @TaskLocal private static var deadline: Deadline?

  func intercept<Response: Sendable>(
    _ context: CallContext, next: NextHandler<Response>
  ) async throws -> Response {
    try await Self.$deadline.withValue(context.deadline) { try await next(context) }
  }

  func intercept<Response: Sendable>(_ call: OutgoingCall, next: NextCall<Response>) async throws -> Response {
    var call = call
    if let remaining = Self.deadline?.remaining() {
      call.options.timeout = min(call.options.timeout ?? remaining, remaining)
    }
    return try await next(call)
  }
}
