internal import CampanileCodec
public import NIOCore
public import NIOPosix
internal import Synchronization

/// Calls one server over a small pool of connections on each event loop.
///
/// Connections are made when first needed. No call hangs: each ends with its response, by its deadline (30 s for a unary call
/// that asks for nothing else), or with UNAVAILABLE when the connection is lost, silent for longer than `KeepAlivePolicy`
/// allows, or cannot be made. What was not seen by the server is sent again; see `RetryPolicy`.
///
/// A task that runs on one of the group's loops is served there, without a change of threads. Letting go of the client closes it.
public final class RPCClient: RPCCaller {
  let settings: ClientSettings
  private let loops: [LoopClient]
  private let next = Atomic<Int>(0)

  /// Throws INVALID_ARGUMENT for a configuration that cannot work. The group must outlive the client.
  public convenience init(
    _ configuration: ClientConfiguration, group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
  ) throws(RPCError) {
    try self.init(configuration, group: group, environment: ClientEnvironment())
  }

  /// With chance and connections of a test's own.
  package init(
    _ configuration: ClientConfiguration, group: any EventLoopGroup, environment: ClientEnvironment
  ) throws(RPCError) {
    let settings = try ClientSettings(configuration, environment)
    self.settings = settings
    loops = group.makeIterator().map { LoopClient($0, settings) }
  }

  deinit {
    for target in loops { target.loop.execute { target.close() } }
  }

  public var configuration: ClientConfiguration { settings.configuration }

  /// Ends every call (UNAVAILABLE `CLIENT_CLOSED`) and connection. Later calls fail the same way.
  public func close() async {
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

  /// The loop of the calling thread where it is one of the group's, else the next one in turn.
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

  /// The time of the client's loops.
  @inline(__always) var now: NIODeadline { loops[0].loop.now }

  @inline(__always)
  func deadline(_ options: CallOptions, kind: CallKind, now: NIODeadline) -> Deadline? {
    let timeoutMs = options.timeoutMs ?? (kind == .unary ? settings.configuration.timeoutMsDefault : nil)
    // A year is no limit, and keeps the arithmetic in range.
    return timeoutMs.map { .after(timeoutMs: min(max($0, 0), 31_536_000_000), now: now) }
  }
}

// MARK: - on an event loop, without tasks

extension RPCClient {
  /// Starts a call on `loop`, which must be the calling thread's and one of the group's.
  ///
  /// `params` are the bytes of an object whose structure was checked, or empty for none. `rawMetadata` are members of the metadata
  /// object (without its braces), written as they are after those of `head.metadata`. Retries are the caller's. A failure to
  /// start the call reaches the handler in a later turn of the loop. `now` is what the loop's clock says, where the caller has
  /// just read it.
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

  /// How a failed call that was started on `loop` may be repeated: after so many milliseconds, or not at all (`nil`).
  /// `attempt` counts from 1.
  public func retryDelayMs(
    after error: RPCError, attempt: Int, idempotency: Idempotency, deadline: Deadline?, on loop: any EventLoop
  ) -> Int64? {
    guard loop.inEventLoop, let client = client(on: loop) else { return nil }
    return client.retryDelayMs(
      after: error, attempt: attempt, attemptsMax: nil, allowsRepeat: idempotency.allowsRepeat, deadline: deadline)
  }

  /// Whether a connection of `loop`, the calling thread's, is ready.
  public func isReady(on loop: any EventLoop) -> Bool { loop.inEventLoop && client(on: loop)?.isReady == true }

  /// Ends the calls of `loop`, the calling thread's, that wait to be sent: UNAVAILABLE `CLIENT_CLOSED`, not processed. For a caller that
  /// knows a better server; what was sent goes on, and later calls are taken as ever.
  public func failWaiting(on loop: any EventLoop) {
    if loop.inEventLoop { client(on: loop)?.failWaiting() }
  }

  /// Open and waiting calls of `loop`, the calling thread's.
  public func callCount(on loop: any EventLoop) -> Int {
    guard loop.inEventLoop, let client = client(on: loop) else { return 0 }
    return client.openCount + client.waitingCount
  }
}
