public import Logging
import NIOCore

/// Serves the methods of a registry.
public final class TypedDispatcher: CallDispatcher {
  private struct Method: Sendable {
    var entry: MethodRegistry.Entry
    var recorder: any MethodRecorder
  }
  private let table: MethodTable<Method>
  private let unknown: any MethodRecorder
  private let timeoutMsDefault: Int64
  private let logger: Logger

  public init(
    _ registry: MethodRegistry, observer: any ServerObserver = SilentServerObserver(),
    limits: WireLimits = WireLimits(),
    logger: Logger = Logger(label: "campanile.rpc.server")
  ) {
    table = MethodTable(
      registry.entries.map { ($0.descriptor.path, Method(entry: $0, recorder: observer.recorder(for: $0.descriptor))) })
    unknown = observer.recorder(for: nil)
    timeoutMsDefault = limits.timeoutMsDefault
    self.logger = logger
  }

  public func startCall(_ call: ServerCall, method name: UnsafeRawBufferPointer, params: UnsafeRawBufferPointer) {
    guard let method = table[name] else {
      unknown.callStarted()
      call.recorder = unknown
      call.fail(
        RPCError(
          .unimplemented,
          "the method \(String(decoding: name.prefix(256), as: UTF8.self).debugDescription) is not known here",
          reason: "METHOD_UNKNOWN", processed: false, protocolFailure: .unknownMethod))
      return call.handlerEnded()
    }
    method.recorder.callStarted()
    call.recorder = method.recorder
    let kind = method.entry.descriptor.kind
    if kind == .unary {
      call.setDeadline(timeoutMs: timeoutMsDefault)
    } else if !call.mayStream {
      call.fail(
        RPCError(
          .invalidArgument, "a streaming call needs an id and a frame of its own", reason: "STREAM_NOT_ALLOWED",
          processed: false,
          protocolFailure: .invalidEnvelope))
      return call.handlerEnded()
    }
    method.entry.start(call, params, CallEnvironment(executor: call.transport.context.executor, logger: logger))
  }
}
