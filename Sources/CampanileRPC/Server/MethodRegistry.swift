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
  /// Called on the call's event loop.
  typealias Start = @Sendable (ServerCall, UnsafeRawBufferPointer, CallEnvironment) -> Void

  struct Entry: Sendable {
    var descriptor: MethodDescriptor
    var start: Start
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
    let method = MethodReference(method)
    add(method) { call, params, environment in
      guard let request = environment.decode(Q.self, params, of: call) else { return }
      let context = environment.context(of: call, method: method)
      // Closures inside of this one would be allocated for each call.
      let task = Task.immediate(executorPreference: environment.executor) {
        do { environment.end(call, with: try await handler(request, context)) } catch { environment.end(call, error) }
      }
      if !call.isAnswered { call.handler = UnaryHandler(call, task) }
    }
  }

  /// One request, a stream of responses. The handler's return ends the stream.
  public mutating func serverStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ handler: @escaping @Sendable (Q, CallContext, ResponseSink<R>) async throws -> Void
  ) {
    let method = MethodReference(method)
    add(method) { call, params, environment in
      guard let request = environment.decode(Q.self, params, of: call) else { return }
      let context = environment.context(of: call, method: method)
      let stream = StreamHandler<Never>(call, decode: nil)
      call.handler = stream
      let sink = ResponseSink<R>(stream)
      environment.run(call, stream) {
        try await handler(request, context, sink)
        environment.end(call)
      }
    }
  }

  /// A stream of requests, one response.
  public mutating func clientStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ handler: @escaping @Sendable (RequestStream<Q>, CallContext) async throws -> R
  ) {
    let method = MethodReference(method)
    add(method) { call, params, environment in
      guard environment.checkNoParams(params, of: call) else { return }
      let context = environment.context(of: call, method: method)
      let stream = StreamHandler<Q>(call, decode: CallEnvironment.decodeMessage)
      call.handler = stream
      let requests = RequestStream<Q>(stream)
      environment.run(call, stream) { environment.end(call, with: try await handler(requests, context)) }
    }
  }

  /// A stream of requests, a stream of responses.
  public mutating func bidirectional<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor,
    _ handler: @escaping @Sendable (RequestStream<Q>, CallContext, ResponseSink<R>) async throws -> Void
  ) {
    let method = MethodReference(method)
    add(method) { call, params, environment in
      guard environment.checkNoParams(params, of: call) else { return }
      let context = environment.context(of: call, method: method)
      let stream = StreamHandler<Q>(call, decode: CallEnvironment.decodeMessage)
      call.handler = stream
      let requests = RequestStream<Q>(stream)
      let sink = ResponseSink<R>(stream)
      environment.run(call, stream) {
        try await handler(requests, context, sink)
        environment.end(call)
      }
    }
  }

  private mutating func add(_ method: MethodReference, _ start: @escaping Start) {
    entries.append(Entry(descriptor: method.descriptor, start: start))
  }
}
