import CampanileBase
public import CampanileRPC
import Tracing

/// Makes a span of swift-distributed-tracing for each call of a server or of a client, with the installed tracer.
///
/// A client's part sends the context of its span in the call's metadata, such as `traceparent`. A server's part makes
/// its span a child of it. Spans that the handler makes with `withSpan` are children of the server's span. Use it
/// without `CallObservation`, which has a tracer of its own.
public struct TracingInterceptor: Sendable {
  public init() {}

  private func trace<Response>(
    _ method: MethodDescriptor, _ kind: SpanKind, in context: InstrumentationContext,
    _ body: () async throws -> Response
  ) async throws -> Response {
    let span = startSpan(method.path, context: context, ofKind: kind)
    defer { span.end() }
    span.attributes["rpc.system"] = "campanile"
    do {
      let response = try await InstrumentationContext.$current.withValue(span.context) { try await body() }
      span.attributes["rpc.response.status_code"] = "OK"
      return response
    } catch {
      let code = RPCError.Code(of: error)
      span.attributes["rpc.response.status_code"] = code.name
      // Not `withSpan`, for which an error of the caller is a failure of the server.
      if kind == .client || code.isServerFailure {
        span.recordError(error)
        span.setStatus(SpanStatus(code: .error))
      }
      throw error
    }
  }
}

extension TracingInterceptor: ServerInterceptor {
  public func intercept<Response: Sendable>(
    _ context: CallContext, next: NextHandler<Response>
  ) async throws -> Response {
    var parent = InstrumentationContext.current ?? .topLevel
    InstrumentationSystem.instrument.extract(context.metadata, into: &parent, using: MetadataPropagation())
    return try await trace(context.method, .server, in: parent) { try await next(context) }
  }
}

extension ServerInterceptor where Self == TracingInterceptor {
  /// Makes a span for each call; see `TracingInterceptor`.
  public static var tracing: Self { TracingInterceptor() }
}

extension TracingInterceptor: ClientInterceptor {
  public func intercept<Response: Sendable>(
    _ call: OutgoingCall, next: NextCall<Response>
  ) async throws -> Response {
    try await trace(call.method, .client, in: .current ?? .topLevel) {
      var call = call
      InstrumentationSystem.instrument.inject(
        .current ?? .topLevel, into: &call.options.metadata, using: MetadataPropagation())
      return try await next(call)
    }
  }
}

extension ClientInterceptor where Self == TracingInterceptor {
  /// Makes a span for each call, and sends its context; see `TracingInterceptor`.
  public static var tracing: Self { TracingInterceptor() }
}

/// Reads and writes the values of a tracer in the metadata of a call, whose keys are lower-case.
struct MetadataPropagation: Extractor, Injector {
  /// Returns the value of a key. Several values, such as those of `tracestate`, are one list, as in HTTP.
  func extract(key: String, from carrier: Metadata) -> String? {
    let values = carrier.values(key.lowercased())
    return values.isEmpty ? nil : values.joined(separator: ",")
  }

  func inject(_ value: String, forKey key: String, into carrier: inout Metadata) {
    carrier.set(value, for: key.lowercased())
  }
}
