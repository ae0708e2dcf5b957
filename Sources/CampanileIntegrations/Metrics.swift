import CampanileBase
public import CampanileRPC
public import CoreMetrics
import Synchronization

/// Records the calls of a server with swift-metrics, by method and code.
///
/// The timer `rpc.server.call.duration` has the dimensions `rpc.method`, such as `hello.v1.HelloService/Greet`, and
/// `rpc.response.status_code`, such as `OK`. The method of all unknown methods is `_OTHER`. A timer also counts.
public struct MetricsObserver: ServerObserver {
  private let factory: (any MetricsFactory)?

  /// - Parameter factory: Makes the timers; nil for the factory of `MetricsSystem` when a timer is first needed.
  public init(factory: (any MetricsFactory)? = nil) { self.factory = factory }

  public func connectionOpened() {}
  public func connectionClosed() {}

  public func recorder(for method: MethodDescriptor?) -> any MethodRecorder {
    MethodTimers("rpc.server.call.duration", method?.path ?? MethodObservation.otherName, factory)
  }
}

extension ServerObserver where Self == MetricsObserver {
  /// Records calls with swift-metrics; see `MetricsObserver`.
  public static var metrics: Self { MetricsObserver() }
}

/// Records the calls of a client with swift-metrics, by method and code.
///
/// The timer `rpc.client.call.duration` has the dimensions of `MetricsObserver`. It counts a call once, whatever the
/// number of attempts of the client. Methods beyond the first 1,000 share the name `_OTHER`.
public final class MetricsInterceptor: ClientInterceptor {
  private let factory: (any MetricsFactory)?
  private let methods = Mutex<[String: MethodTimers]>([:])

  /// - Parameter factory: Makes the timers; nil for the factory of `MetricsSystem` when a timer is first needed.
  public init(factory: (any MetricsFactory)? = nil) { self.factory = factory }

  public func intercept<Response: Sendable>(_ call: OutgoingCall, next: NextCall<Response>) async throws -> Response {
    let timers = timers(of: call.method.path)
    let begun = ContinuousClock.now
    var code: RPCError.Code?
    defer { timers.record(code, Int64((ContinuousClock.now - begun) / .nanoseconds(1))) }
    do {
      return try await next(call)
    } catch {
      code = .init(of: error)
      throw error
    }
  }

  private static let methodsMax = 1_000

  private func timers(of path: String) -> MethodTimers {
    methods.withLock { methods in
      if let known = methods[path] { return known }
      let path = methods.count < Self.methodsMax ? path : MethodObservation.otherName
      if let known = methods[path] { return known }
      let made = MethodTimers("rpc.client.call.duration", path, factory)
      methods[path] = made
      return made
    }
  }
}

extension ClientInterceptor where Self == MetricsInterceptor {
  /// Records calls with swift-metrics; see `MetricsInterceptor`.
  public static var metrics: Self { MetricsInterceptor() }
}

extension RPCError.Code {
  /// Creates the code of a call that ended with an error.
  init(of error: any Error) { self = RPCError(handlerError: error)?.code ?? .internalError }
}

/// The timers of one method, by code. Each is made for its first call, because backends export every timer.
private final class MethodTimers: MethodRecorder {
  private let label: String
  private let path: String
  private let factory: (any MetricsFactory)?
  private let timers = Mutex<[RPCError.Code?: Timer]>([:])

  init(_ label: String, _ path: String, _ factory: (any MetricsFactory)?) {
    self.label = label
    self.path = path
    self.factory = factory
  }

  func callStarted(on shard: CounterShard) {}

  func callFinished(code: RPCError.Code?, durationNs: Int64, on shard: CounterShard) {
    record(code, durationNs)
  }

  /// Records a call. A nil code means success.
  func record(_ code: RPCError.Code?, _ durationNs: Int64) {
    let timer = timers.withLock { timers in
      if let known = timers[code] { return known }
      let made = Timer(
        label: label, dimensions: [("rpc.method", path), ("rpc.response.status_code", code?.name ?? "OK")],
        factory: factory ?? MetricsSystem.factory)
      timers[code] = made
      return made
    }
    timer.recordNanoseconds(durationNs)
  }
}
