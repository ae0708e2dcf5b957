import CampanileBase
public import Logging

/// Logs each call at its end, with its method, code and duration, and on servers with the facts of its `CallRecord`.
///
/// Calls that failed because of the server are logged as warnings; see `RPCError.Code.isServerFailure`.
public struct LoggingInterceptor: Sendable {
  private let logger: Logger
  private let level: Logger.Level

  /// - Parameter level: The level for calls that succeeded, and for those that failed because of their caller.
  public init(_ logger: Logger, level: Logger.Level = .info) {
    self.logger = logger
    self.level = level
  }

  private func log<Response>(
    _ message: Logger.Message, _ method: MethodDescriptor, _ facts: CallRecord,
    _ body: () async throws -> Response
  ) async throws -> Response {
    let clock = ContinuousClock()
    let begun = clock.now
    func log(_ code: RPCError.Code?) {
      var metadata = facts.logMetadata
      metadata["method"] = .string(method.path)
      metadata["code"] = .string(code?.name ?? "OK")
      metadata["durationMs"] = .stringConvertible(((clock.now - begun) / .microseconds(1)).rounded() / 1_000)
      logger.log(level: code?.isServerFailure == true ? max(level, .warning) : level, message, metadata: metadata)
    }
    do {
      let response = try await body()
      log(nil)
      return response
    } catch {
      log(RPCError(handlerError: error)?.code ?? .internalError)
      throw error
    }
  }
}

extension LoggingInterceptor: ServerInterceptor {
  public func intercept<Response: Sendable>(
    _ context: CallContext, next: NextHandler<Response>
  ) async throws -> Response {
    let facts = CallRecord(
      requestID: context.metadata[Metadata.requestIDKey], principal: context.principal?.name,
      traceID: CallScope.trace?.traceID)
    return try await log("a call was served", context.method, facts) { try await next(context) }
  }
}

extension ServerInterceptor where Self == LoggingInterceptor {
  /// Logs each call at its end; see `LoggingInterceptor`.
  public static func logging(_ logger: Logger, level: Logger.Level = .info) -> Self {
    LoggingInterceptor(logger, level: level)
  }
}

extension LoggingInterceptor: ClientInterceptor {
  public func intercept<Response: Sendable>(
    _ call: OutgoingCall, next: NextCall<Response>
  ) async throws -> Response {
    try await log("a call was made", call.method, CallRecord(traceID: CallScope.trace?.traceID)) {
      try await next(call)
    }
  }
}

extension ClientInterceptor where Self == LoggingInterceptor {
  /// Logs each call at its end; see `LoggingInterceptor`.
  public static func logging(_ logger: Logger, level: Logger.Level = .info) -> Self {
    LoggingInterceptor(logger, level: level)
  }
}
