public import CampanileBase
import Logging
public import NIOCore
public import NIOPosix

extension RPCServer {
  /// Creates a server of services.
  ///
  /// - Parameters:
  ///   - services: The services to offer. If two have the same method, that of the later one is served.
  ///   - interceptors: Wrap all calls, the first one outermost.
  ///   - authenticator: Checks the tokens of `rpc.hello`. If nil, callers have no token and no principal.
  ///   - observation: Traces calls and logs slow ones; nil disables both.
  ///   - group: The event loops of connections and handlers. It must outlive the server.
  ///   - wrap: Returns a dispatcher around that of the services, for code that needs the bytes of calls.
  public convenience init(
    _ configuration: ServerConfiguration = ServerConfiguration(), services: [any RPCService],
    interceptors: [any ServerInterceptor] = [],
    authenticator: (any HelloAuthenticator)? = nil,
    observer: any ServerObserver = SilentServerObserver(), observation: CallObservation? = nil,
    group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
    wrappingDispatcher wrap: (any CallDispatcher) -> any CallDispatcher = { $0 }
  ) {
    let dispatcher = TypedDispatcher(
      MethodRegistry(services, interceptors: interceptors), observer: observer, limits: configuration.limits,
      observation: observation,
      logger: configuration.logger)
    self.init(
      configuration, dispatcher: wrap(dispatcher),
      authenticator: authenticator ?? InternalTokenAuthenticator(token: nil),
      observer: observer, group: group, services: services)
  }

  /// Serves until the task is cancelled; then drains and shuts down.
  ///
  /// - Parameter draining: The time for open calls to finish. After it, a warning is logged, and the calls end with
  ///   UNAVAILABLE.
  /// - Throws: The errors of `start`. A cancellation is not an error.
  public func run(draining: Duration = .seconds(30)) async throws {
    try await run(draining: draining) { _ in
      while !Task.isCancelled { try? await Task.sleep(for: .seconds(86_400)) }
    }
  }

  /// Serves until `body` returns or throws; then drains and shuts down.
  ///
  /// `body` waits for whatever ends the server, for example `gracefulShutdown()` of swift-service-lifecycle. A
  /// cancellation reaches `body`, but does not shorten draining.
  ///
  /// - Parameters:
  ///   - draining: The time for open calls to finish; see `run(draining:)`.
  ///   - body: Receives the host of the configuration, and the port on which the server listens.
  /// - Throws: The errors of `start` and of `body`.
  public func run<Result>(
    draining: Duration = .seconds(30), _ body: (HostPort) async throws -> Result
  ) async throws -> Result {
    let port = try await start().port ?? configuration.port
    do {
      let result = try await body(HostPort(host: configuration.host, port: port))
      await stop(draining: draining)
      return result
    } catch {
      await stop(draining: draining)
      throw error
    }
  }

  private func stop(draining: Duration) async {
    // In a task of its own, because the current one may be cancelled.
    await Task {
      if await !drain(timeout: draining) {
        configuration.logger.warning(
          "calls are still open after draining; closing their connections",
          metadata: ["connections": "\(connectionCount)"])
      }
      await shutdown()
    }.value
  }
}
