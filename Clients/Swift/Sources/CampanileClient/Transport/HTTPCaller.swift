public import CampanileBase
public import CampanileCall
public import CampanileCodec
public import Foundation

/// Calls a gateway by the Connect protocol with JSON, over URLSession. Safe from any thread.
///
/// - Every failure is an `RPCError` with the server's `reason`, violations and requested delay. Failures of the
///   connection are UNAVAILABLE.
/// - Unary calls have a deadline, 30 s by default, which the server learns. Cancelling a task stops its request.
/// - A call is repeated after UNAVAILABLE, or after RESOURCE_EXHAUSTED or ABORTED with RetryInfo, by `RetryPolicy`.
///   The pause is at least the requested delay, plus jitter.
/// - Only calls that may run twice are repeated: by their method's declaration, or because they have a request id or
///   the metadata `idempotency-key`. The client adds an id to messages that have the field.
/// - After UNAUTHENTICATED, the call is repeated once if the credentials have another credential.
/// - Redirects are refused. Responses above `HTTPCallerConfiguration.responseBytesMax` are an error.
/// - Streams of requests are UNIMPLEMENTED: HTTP/1.1 and URLSession send in one direction at a time.
public final class HTTPCaller: RPCCaller, JSONCaller {
  package let url: URL
  let credentials: any CredentialSource
  let configuration: HTTPCallerConfiguration
  package let environment: ClientEnvironment
  let transport: any HTTPTransport
  let budget: Locked<RetryBudget>

  /// Creates a caller. It connects with its first call.
  ///
  /// - Parameter url: The gateway's address, such as `https://api.example`, with a path if it is under one.
  public convenience init(
    _ url: URL, credentials: any CredentialSource = NoCredentials(), configuration: HTTPCallerConfiguration = .init(),
    environment: ClientEnvironment = .system
  ) {
    self.init(
      url, credentials: credentials, configuration: configuration, environment: environment,
      transport: URLSessionTransport(connectionsMax: configuration.connectionsMax))
  }

  init(
    _ url: URL, credentials: any CredentialSource, configuration: HTTPCallerConfiguration,
    environment: ClientEnvironment, transport: any HTTPTransport
  ) {
    self.url = url
    self.credentials = credentials
    self.configuration = configuration
    self.environment = environment
    self.transport = transport
    budget = Locked(RetryBudget(configuration.retryPolicy))
  }

  public func unary<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, options: CallOptions
  ) async throws -> R {
    var json = request.jsonUTF8Bytes()
    if !method.idempotency.allowsRetry, RequestIdentity.isSupported(by: Q.self), RequestIdentity.id(in: json).isEmpty {
      json = RequestIdentity.adding(environment.newRequestID(), to: json)
    }
    return try R(responseJSON: try await call(method, json: json, options: options))
  }

  public func call(
    _ method: MethodDescriptor, json: [UInt8], options: CallOptions
  ) async throws(RPCError) -> [UInt8] {
    let mayRepeat =
      method.idempotency.allowsRetry || options.metadata["idempotency-key"] != nil
      || !RequestIdentity.id(in: json).isEmpty
    let deadlineMs = environment.nowMs() + (options.timeoutMs ?? configuration.timeoutMs)
    return try await repeating(options, mayRepeat: mayRepeat, deadlineMs: deadlineMs) { () async throws(RPCError) in
      try await self.attempt(method, json, options, deadlineMs: deadlineMs)
    }
  }

  public func serverStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, options: CallOptions
  ) -> ResponseStream<R> {
    let call = StreamCall(unreadBytesMax: configuration.unreadBytesMax)
    let deadlineMs = options.timeoutMs.map { environment.nowMs() + $0 }
    let body = EnvelopeReader.envelope(request.jsonUTF8Bytes())
    let task = Task { await self.run(call, method, body, options, deadlineMs: deadlineMs) }
    call.onEnd { task.cancel() }
    return ResponseStream(call)
  }

  public func clientStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, options: CallOptions,
    requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void
  ) async throws -> R {
    throw Self.requestsUnsupported
  }

  public func bidirectional<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, options: CallOptions,
    requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void
  ) -> ResponseStream<R> {
    let call = StreamCall(unreadBytesMax: 0)
    call.finish(.failed(Self.requestsUnsupported))
    return ResponseStream(call)
  }

  static let requestsUnsupported = RPCError(
    .unimplemented, "this client cannot stream requests; use the framed protocol of CampanileRPC",
    reason: "REQUEST_STREAM_UNSUPPORTED", processed: false)
}

/// Makes unary calls whose messages are JSON already, such as those of an `Outbox`.
public protocol JSONCaller: Sendable {
  /// Sends a request in ProtoJSON and returns the response in ProtoJSON. Cancelling the task cancels the call.
  func call(_ method: MethodDescriptor, json: [UInt8], options: CallOptions) async throws(RPCError) -> [UInt8]
}
