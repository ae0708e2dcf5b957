import CampanileBase
public import CampanileCodec

/// A service that a server offers. Generated service protocols implement `register` with their table of methods.
public protocol RPCService: Sendable {
  func register(in registry: inout MethodRegistry)

  /// Called once, when an `RPCServer` that was created with the service begins to drain. Implement it to end streams
  /// that would otherwise stay open until the server shuts down, such as watches.
  func drainBegan()
}

extension RPCService {
  public func drainBegan() {}
}

/// The methods of a server with their handlers, collected before it starts.
///
/// A handler runs on its connection's event loop until it first suspends, and resumes there, so it must not block for
/// long. The error that it throws becomes the response: an `RPCError` unchanged, an `RPCErrorConvertible` converted, a
/// cancellation as CANCELLED. Any other error becomes INTERNAL without its text, which is logged.
public struct MethodRegistry: Sendable {
  /// Starts a handler; called on the call's event loop.
  typealias Start = @Sendable (ServerCall, UnsafeRawBufferPointer, CallEnvironment) -> Void

  struct Entry: Sendable {
    var descriptor: MethodDescriptor
    var start: Start
  }

  private(set) var entries: [Entry] = []
  /// Nil if there are none.
  let interceptors: ServerInterceptors?

  /// Creates a registry whose interceptors wrap all handlers, the first one outermost.
  public init(_ services: [any RPCService] = [], interceptors: [any ServerInterceptor] = []) {
    self.interceptors = ServerInterceptors(interceptors)
    for service in services { service.register(in: &self) }
  }

  /// The methods in the order of registration.
  public var methods: [MethodDescriptor] { entries.map(\.descriptor) }

  /// Registers a method with one request and one response.
  public mutating func unary<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ handler: @escaping @Sendable (Q, CallContext) async throws -> R
  ) {
    let method = MethodReference(method)
    if let interceptors { return intercepted(method, interceptors, handler) }
    add(method) { call, params, environment in
      guard let request = environment.decode(Q.self, params, of: call) else { return }
      let context = environment.context(of: call, method: method)
      // Nested closures would be allocated for each call.
      let task = Task.immediately(on: environment.executor) {
        do { environment.end(call, with: try await handler(request, context)) } catch { environment.end(call, error) }
      }
      if !call.isAnswered { call.handler = UnaryHandler(call, task) }
    }
  }

  /// Registers a unary method behind interceptors. The call begins with them, not with one more function that waits for
  /// them, because the task's first block of memory must hold all frames.
  private mutating func intercepted<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodReference, _ interceptors: ServerInterceptors,
    _ handler: @escaping @Sendable (Q, CallContext) async throws -> R
  ) {
    add(method) { call, params, environment in
      guard let request = environment.decode(Q.self, params, of: call) else { return }
      let context = environment.context(of: call, method: method)
      let intercepted = InterceptedUnaryHandler(interceptors, handler, request)
      let task = Task.immediately(on: environment.executor) {
        do { environment.end(call, with: try await intercepted.begin(context)) } catch { environment.end(call, error) }
      }
      if !call.isAnswered { call.handler = UnaryHandler(call, task) }
    }
  }

  /// Registers a method with one request and a stream of responses. The stream ends when the handler returns.
  public mutating func serverStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ handler: @escaping @Sendable (Q, CallContext, ResponseSink<R>) async throws -> Void
  ) {
    let method = MethodReference(method)
    add(method) { [interceptors] call, params, environment in
      guard let request = environment.decode(Q.self, params, of: call) else { return }
      let context = environment.context(of: call, method: method)
      let stream = StreamHandler<Never>(call, decode: nil)
      call.handler = stream
      let sink = ResponseSink<R>(stream)
      let intercepted = interceptors.map { InterceptedServerStreamHandler($0, handler, request, sink) }
      let task = Task.immediately(on: environment.executor) {
        do {
          if let intercepted {
            try await intercepted.begin(context)
          } else {
            try await handler(request, context, sink)
          }
          environment.end(call)
        } catch {
          environment.end(call, error)
        }
      }
      if !call.isAnswered { stream.task = task }
    }
  }

  /// Registers a method with a stream of requests and one response.
  public mutating func clientStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ handler: @escaping @Sendable (RequestStream<Q>, CallContext) async throws -> R
  ) {
    let method = MethodReference(method)
    add(method) { [interceptors] call, params, environment in
      guard environment.checkNoParams(params, of: call) else { return }
      let context = environment.context(of: call, method: method)
      let stream = StreamHandler<Q>(call, decode: CallEnvironment.decodeMessage)
      call.handler = stream
      let requests = RequestStream<Q>(stream)
      let intercepted = interceptors.map { InterceptedClientStreamHandler($0, handler, requests) }
      let task = Task.immediately(on: environment.executor) {
        do {
          let response =
            if let intercepted {
              try await intercepted.begin(context)
            } else {
              try await handler(requests, context)
            }
          environment.end(call, with: response)
        } catch {
          environment.end(call, error)
        }
      }
      if !call.isAnswered { stream.task = task }
    }
  }

  /// Registers a method with a stream of requests and a stream of responses.
  public mutating func bidirectional<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor,
    _ handler: @escaping @Sendable (RequestStream<Q>, CallContext, ResponseSink<R>) async throws -> Void
  ) {
    let method = MethodReference(method)
    add(method) { [interceptors] call, params, environment in
      guard environment.checkNoParams(params, of: call) else { return }
      let context = environment.context(of: call, method: method)
      let stream = StreamHandler<Q>(call, decode: CallEnvironment.decodeMessage)
      call.handler = stream
      let requests = RequestStream<Q>(stream)
      let sink = ResponseSink<R>(stream)
      let intercepted = interceptors.map { InterceptedBidirectionalHandler($0, handler, requests, sink) }
      let task = Task.immediately(on: environment.executor) {
        do {
          if let intercepted {
            try await intercepted.begin(context)
          } else {
            try await handler(requests, context, sink)
          }
          environment.end(call)
        } catch {
          environment.end(call, error)
        }
      }
      if !call.isAnswered { stream.task = task }
    }
  }

  private mutating func add(_ method: MethodReference, _ start: @escaping Start) {
    entries.append(Entry(descriptor: method.descriptor, start: start))
  }
}
