public import CampanileCodec

/// A service whose methods a server offers. Generated service protocols implement `register` by their methods' table.
public protocol RPCService: Sendable {
  func register(in registry: inout MethodRegistry)
}

/// The methods of a server with their handlers, gathered before it starts.
///
/// A handler runs on its connection's event loop until it first suspends, and comes back there after it; so it must not
/// block for long. What it throws becomes the answer: an `RPCError` as it is, a cancellation CANCELLED, anything else
/// INTERNAL without its text, which is logged.
public struct MethodRegistry: Sendable {
  struct Entry: Sendable {
    var descriptor: MethodDescriptor
    /// Called on the call's event loop.
    var start: @Sendable (ServerCall, UnsafeRawBufferPointer, CallEnvironment) -> Void
  }

  private(set) var entries: [Entry] = []

  public init() {}

  public init(_ services: [any RPCService]) {
    for service in services { service.register(in: &self) }
  }

  /// The methods in the order of their registration.
  public var methods: [MethodDescriptor] { entries.map(\.descriptor) }

  /// One request, one response.
  public mutating func unary<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ handler: @escaping @Sendable (Q, CallContext) async throws -> R
  ) {
    add(method) { call, params, environment in
      guard let request = environment.decode(Q.self, params, of: call) else { return }
      let context = environment.context(of: call, method: method)
      environment.run(call) {
        let response = try await handler(request, context)
        environment.onLoop(call) { call in call.succeed(response) }
      }
    }
  }

  /// One request, a stream of responses. The handler's return ends the stream.
  public mutating func serverStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ handler: @escaping @Sendable (Q, CallContext, ResponseSink<R>) async throws -> Void
  ) {
    add(method) { call, params, environment in
      guard let request = environment.decode(Q.self, params, of: call) else { return }
      let context = environment.context(of: call, method: method)
      let stream = StreamHandler<Never>(call, decode: nil)
      call.handler = stream
      let sink = ResponseSink<R>(stream)
      environment.run(call, stream: stream) {
        try await handler(request, context, sink)
        environment.onLoop(call) { call in call.succeed(UnsafeRawBufferPointer(start: nil, count: 0)) }
      }
    }
  }

  /// A stream of requests, one response.
  public mutating func clientStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ handler: @escaping @Sendable (RequestStream<Q>, CallContext) async throws -> R
  ) {
    add(method) { call, params, environment in
      guard environment.checkNoParams(params, of: call) else { return }
      let context = environment.context(of: call, method: method)
      let stream = StreamHandler<Q>(call, decode: CallEnvironment.decodeMessage)
      call.handler = stream
      let requests = RequestStream<Q>(stream)
      environment.run(call, stream: stream) {
        let response = try await handler(requests, context)
        environment.onLoop(call) { call in call.succeed(response) }
      }
    }
  }

  /// A stream of requests, a stream of responses.
  public mutating func bidirectional<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor,
    _ handler: @escaping @Sendable (RequestStream<Q>, CallContext, ResponseSink<R>) async throws -> Void
  ) {
    add(method) { call, params, environment in
      guard environment.checkNoParams(params, of: call) else { return }
      let context = environment.context(of: call, method: method)
      let stream = StreamHandler<Q>(call, decode: CallEnvironment.decodeMessage)
      call.handler = stream
      let requests = RequestStream<Q>(stream)
      let sink = ResponseSink<R>(stream)
      environment.run(call, stream: stream) {
        try await handler(requests, context, sink)
        environment.onLoop(call) { call in call.succeed(UnsafeRawBufferPointer(start: nil, count: 0)) }
      }
    }
  }

  private mutating func add(
    _ method: MethodDescriptor,
    _ start: @escaping @Sendable (ServerCall, UnsafeRawBufferPointer, CallEnvironment) -> Void
  ) {
    entries.append(Entry(descriptor: method, start: start))
  }
}
