import CampanileBase
import CampanileRPC

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
    if let remainingMs = Self.deadline?.remainingMs() {
      call.options.timeoutMs = min(call.options.timeoutMs ?? remainingMs, remainingMs)
    }
    return try await next(call)
  }
}
