public import CampanileBase
public import CampanileCall

/// An event of a watch, with the token to resume after it.
public enum WatchEvent<Change: Sendable>: Sendable {
  /// A connection is open: every change from now on will follow.
  case started(token: String)
  case change(Change, token: String)
  /// Everything that was committed before the connection was opened has been sent.
  case reached(token: String)
  /// Changes are missing, because the server no longer has them (OUT_OF_RANGE `TOKEN_TOO_OLD`): read everything again.
  /// Changes from now on follow.
  case gap(RPCError)
  /// The connection was lost for this reason. The next attempt follows the next call of the iterator, after this delay.
  case waiting(RPCError, delayMs: Int64)
}

extension WatchEvent: Equatable where Change: Equatable {}

/// The timing of watches.
public struct WatchConfiguration: Sendable, Hashable {
  /// The pause after consecutive failures.
  public var backoff = Backoff(initialDelay: .milliseconds(200), multiplier: 2, jitter: 0.5, delayMax: .seconds(30))
  /// The time after which a connection is replaced. It limits the time during which a dead one goes unnoticed.
  public var renewMs: Int64 = 300_000

  public init() {}
}

/// The events of a watch method, over any number of connections.
///
/// - It never ends by itself. It throws `RPCError` if the server refuses the watch for good, such as PERMISSION_DENIED.
/// - After a lost connection it resumes behind the last event that the loop has received: nothing is lost or repeated.
/// - It pauses with a growing delay and jitter between attempts, at least as long as the server requests.
///   `ReconnectSignal.notify()` ends the pause.
/// - Each iteration is a watch of its own. Releasing the iterator ends it, and so does cancelling the task, with
///   `CancellationError`.
public struct Watch<Request: WatchRequest, Response: WatchResponse>: AsyncSequence, Sendable {
  public typealias Element = WatchEvent<Response.Change>

  let method: MethodDescriptor
  let request: Request
  let caller: any RPCCaller
  let configuration: WatchConfiguration
  let environment: ClientEnvironment
  let reconnect: ReconnectSignal

  /// Creates a watch.
  ///
  /// - Parameter request: With the token to start after; an empty one starts with the present.
  public init(
    _ method: MethodDescriptor, _ request: Request, as response: Response.Type = Response.self,
    caller: any RPCCaller, configuration: WatchConfiguration = .init(), environment: ClientEnvironment = .system,
    reconnect: ReconnectSignal = .init()
  ) {
    self.method = method
    self.request = request
    self.caller = caller
    self.configuration = configuration
    self.environment = environment
    self.reconnect = reconnect
  }

  public func makeAsyncIterator() -> Iterator { Iterator(self) }

  public struct Iterator: AsyncIteratorProtocol {
    private let position: Position

    init(_ watch: Watch) { position = Position(watch) }

    public mutating func next() async throws -> Element? { try await position.next(isolation: #isolation) }

    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
      try await position.next(isolation: actor)
    }
  }

  /// The state of an iteration. A class, because the compiler's functions to copy so large a struct add 9 kB to apps.
  private final class Position {
    private let watch: Watch
    private var machine: WatchMachine
    private var stream: ResponseStream<Response>.Iterator?
    private var openedMs: Int64 = 0
    /// The event after a gap.
    private var following: Element?
    private var failure: RPCError?
    /// The pause before the next connection, and the number of signals when it began.
    private var pause: (delayMs: Int64, signals: Int)?

    init(_ watch: Watch) {
      self.watch = watch
      machine = WatchMachine(token: watch.request.resumeToken, backoff: watch.configuration.backoff)
    }

    func next(isolation actor: isolated (any Actor)?) async throws -> Element? {
      if let event = following {
        following = nil
        return event
      }
      if let failure { throw failure }
      if let pause {
        self.pause = nil
        try await watch.reconnect.pause(ms: pause.delayMs, since: pause.signals, watch.environment)
      }
      while true {
        try Task.checkCancellation()
        var ended: RPCError?
        do throws(RPCError) {
          if let response = try await response(actor) {
            if let event = event(response) { return event }
            continue
          }
        } catch {
          ended = error
        }
        if let event = try finish(ended) { return event }
      }
    }

    /// Returns the next response of the current connection; `nil` at its end.
    private func response(_ actor: isolated (any Actor)?) async throws(RPCError) -> Response? {
      if stream == nil {
        var request = watch.request
        request.resumeToken = machine.token
        openedMs = watch.environment.nowMs()
        let options = CallOptions(timeoutMs: watch.configuration.renewMs)
        let opened: ResponseStream<Response> = watch.caller.serverStreaming(watch.method, request, options: options)
        stream = opened.makeAsyncIterator()
      }
      return try await stream?.next(isolation: actor)
    }

    private func event(_ response: Response) -> Element? {
      let token = response.resumeToken
      let kind = response.kind
      var isChange = false
      if case .change = kind { isChange = true }
      let gap = machine.received(token: token, isChange: isChange, nowMs: watch.environment.nowMs())
      let event: Element? =
        switch kind {
        case .started: .started(token: machine.token)
        case .change(let change): .change(change, token: machine.token)
        case .reached: .reached(token: machine.token)
        case .unknown: nil
        }
      guard let gap else { return event }
      following = event
      return .gap(gap)
    }

    /// Ends the connection. Returns an event if the next one has to wait.
    private func finish(_ error: RPCError?) throws -> Element? {
      stream = nil
      try Task.checkCancellation()
      let nowMs = watch.environment.nowMs()
      let isRenewal = error?.code == .deadlineExceeded && nowMs - openedMs >= watch.configuration.renewMs - 1_000
      switch machine.ended(error, isRenewal: isRenewal, nowMs: nowMs, random: watch.environment.random()) {
      case .fail(let error):
        failure = error
        throw error
      case .connect(let delayMs):
        guard delayMs > 0 else { return nil }
        pause = (delayMs, watch.reconnect.count)
        return .waiting(error ?? Self.streamEnded, delayMs: delayMs)
      }
    }

    private static var streamEnded: RPCError {
      RPCError(.unavailable, "the server has ended the stream", reason: "STREAM_ENDED")
    }
  }
}
