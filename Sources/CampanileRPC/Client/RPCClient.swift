public import CampanileBase
internal import CampanileCodec
public import NIOCore
public import NIOPosix
internal import Synchronization

/// A client of one server, or of several equal ones, with a small pool of connections on each event loop.
///
/// Connections are opened when first needed. No call hangs: each ends with its response, at its deadline, or with
/// UNAVAILABLE. The default deadline of a unary call is 30 s. UNAVAILABLE means that the connection was lost, was
/// silent for longer than `KeepAlivePolicy` allows, or cannot be made. Requests that the server has not seen are sent
/// again; see `RetryPolicy`.
///
/// A task that runs on one of the group's loops is served on that loop, without a thread hop. Releasing the client
/// closes it.
public final class RPCClient: RPCCaller {
  let resources: ClientResources
  private let loops: [LoopClient]
  private let next = Atomic<Int>(0)
  /// Resolves names again and again; nil if the addresses cannot change.
  private let resolving: Task<Void, Never>?

  /// Throws INVALID_ARGUMENT for an invalid configuration. The group must outlive the client.
  public convenience init(
    _ configuration: ClientConfiguration, group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
  ) throws(RPCError) {
    try self.init(configuration, group: group, environment: ClientEnvironment())
  }

  /// Creates a client with the given sources of randomness and connections, for tests.
  package init(
    _ configuration: ClientConfiguration, group: any EventLoopGroup, environment: ClientEnvironment
  ) throws(RPCError) {
    let resources = try ClientResources(configuration, environment)
    self.resources = resources
    let loops = group.makeIterator().map { LoopClient($0, resources) }
    self.loops = loops
    let names = ResolvedNames.names(in: configuration.addresses)
    let changes = configuration.balancing == .everyAddress && !names.isEmpty
    resolving = changes ? Task { await resources.resolve(names, for: loops) } : nil
  }

  /// Calls `body` with a client, which is closed at the end, whether or not `body` throws.
  ///
  /// - Throws: INVALID_ARGUMENT for an invalid configuration, and the errors of `body`.
  public static func with<Result>(
    _ configuration: ClientConfiguration, group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
    _ body: (RPCClient) async throws -> Result
  ) async throws -> Result {
    let client = try RPCClient(configuration, group: group)
    do {
      let result = try await body(client)
      await client.close()
      return result
    } catch {
      await client.close()
      throw error
    }
  }

  deinit {
    resolving?.cancel()
    for target in loops { target.loop.execute { target.close() } }
  }

  public var configuration: ClientConfiguration { resources.configuration }

  /// Ends every call (UNAVAILABLE `CLIENT_CLOSED`) and connection. Later calls fail with the same error.
  public func close() async {
    resolving?.cancel()
    for target in loops {
      await withUnsafeContinuation { (done: UnsafeContinuation<Void, Never>) in
        target.loop.execute {
          target.close()
          done.resume()
        }
      }
    }
  }

  // MARK: - choosing a loop

  /// Returns the calling thread's loop if it belongs to the group, otherwise the next loop in turn.
  @inline(__always)
  func target() -> (client: LoopClient, isOnLoop: Bool) {
    if let current = MultiThreadedEventLoopGroup.currentEventLoop, let mine = client(on: current) {
      return (mine, true)
    }
    let turn = next.wrappingAdd(1, ordering: .relaxed).oldValue
    return (loops[(turn & .max) % loops.count], false)
  }

  @inline(__always)
  private func client(on loop: any EventLoop) -> LoopClient? {
    for candidate in loops where candidate.loop === loop { return candidate }
    return nil
  }

  /// The current time of the client's loops.
  @inline(__always) var now: NIODeadline { loops[0].loop.now }

  @inline(__always)
  func deadline(_ options: CallOptions, kind: CallKind, now: NIODeadline) -> Deadline? {
    let timeoutMs = options.timeoutMs ?? (kind == .unary ? resources.configuration.timeoutMsDefault : nil)
    // A year is as good as no limit, and keeps the arithmetic in range.
    return timeoutMs.map { .after(timeoutMs: min(max($0, 0), 31_536_000_000), now: now) }
  }
}

// MARK: - on an event loop, without tasks

extension RPCClient {
  /// Starts a call on `loop`, which must be the calling thread's and one of the group's.
  ///
  /// Retries are up to the caller. If the call cannot be started, the failure reaches the handler in a later tick of
  /// the loop.
  ///
  /// - Parameters:
  ///   - params: The bytes of an object whose structure was checked, or empty for none.
  ///   - rawMetadata: Members of the metadata object, without its braces, written unchanged after those of
  ///     `head.metadata`.
  ///   - now: The loop's current time, if the caller has just read it.
  public func startCall(
    _ head: CallHead, params: UnsafeRawBufferPointer,
    rawMetadata: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0), on loop: any EventLoop,
    now: NIODeadline? = nil, handler: any ClientCallHandler
  ) -> ClientCall {
    guard loop.inEventLoop, let client = client(on: loop) else {
      let error = RPCError(.internalError, "not on one of the client's event loops", reason: "LOOP_UNKNOWN")
      handler.callFailed(error: error, rawError: nil)
      return ClientCall(call: nil)
    }
    return ClientCall(
      call: client.startCall(head, params: params, rawMetadata: rawMetadata, now: now ?? loop.now, handler: handler))
  }

  /// Returns whether a connection of `loop`, which must be the calling thread's, is ready.
  public func isReady(on loop: any EventLoop) -> Bool { loop.inEventLoop && client(on: loop)?.isReady == true }

  /// Fails the calls of `loop`, which must be the calling thread's, that wait to be sent: UNAVAILABLE `CLIENT_CLOSED`,
  /// not processed. Intended for callers that know a better server. Calls already sent continue, and later calls are
  /// accepted.
  public func failWaiting(on loop: any EventLoop) {
    if loop.inEventLoop { client(on: loop)?.failWaiting() }
  }

  /// Returns the number of open and waiting calls of `loop`, which must be the calling thread's.
  public func callCount(on loop: any EventLoop) -> Int {
    guard loop.inEventLoop, let client = client(on: loop) else { return 0 }
    return client.openCount + client.waitingCount
  }
}
