import CampanileBase
public import Logging
import NIOCore

/// Serves the methods of a registry.
public final class TypedDispatcher: CallDispatcher {
  /// A class, because each call looks one up, and a struct's fields would be retained one by one.
  private final class Method: Sendable {
    let kind: CallKind
    let start: MethodRegistry.Start
    let observation: MethodObservation

    init(_ entry: MethodRegistry.Entry, _ observation: MethodObservation) {
      self.observation = observation
      kind = entry.descriptor.kind
      start = entry.start
    }
  }
  private let table: MethodTable<Method>
  private let unknown: MethodObservation
  private let timeoutMsDefault: Int64
  private let logger: Logger

  public init(
    _ registry: MethodRegistry, observer: any ServerObserver = SilentServerObserver(),
    limits: WireLimits = WireLimits(), observation: CallObservation? = nil,
    logger: Logger = Logger(label: "campanile.rpc.server")
  ) {
    table = MethodTable(
      registry.entries.map { entry in
        let method = entry.descriptor
        return (method.path, Method(entry, .init(method, observation, recorder: observer.recorder(for: method))))
      })
    // Calls of unknown methods are counted but not traced.
    unknown = MethodObservation(nil, nil, recorder: observer.recorder(for: nil))
    timeoutMsDefault = limits.timeoutMsDefault
    self.logger = logger
  }

  public func startCall(_ call: ServerCall, method name: UnsafeRawBufferPointer, params: UnsafeRawBufferPointer) {
    guard let method = table[name] else {
      unknown.begin(call)
      call.fail(
        RPCError(
          .unimplemented,
          "the method \(String(decoding: name.prefix(256), as: UTF8.self).debugDescription) is unknown",
          reason: "METHOD_UNKNOWN", processed: false, protocolFailure: .unknownMethod))
      return call.handlerEnded()
    }
    method.observation.begin(call)
    if method.kind == .unary {
      call.setDeadline(timeoutMs: timeoutMsDefault)
    } else if !call.mayStream {
      call.fail(
        RPCError(
          .invalidArgument, "a streaming call needs a frame of its own, outside of a batch",
          reason: "STREAM_NOT_ALLOWED", processed: false, protocolFailure: .invalidEnvelope))
      return call.handlerEnded()
    }
    let environment = CallEnvironment(executor: call.transport.context.executor, logger: logger)
    guard let scope = call.scope else { return method.start(call, params, environment) }
    // The handler's task inherits it.
    CallScope.$current.withValue(scope) { method.start(call, params, environment) }
  }
}
