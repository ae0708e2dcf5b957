import CampanileBase
import CampanileCodec
import Synchronization

/// A call with a response stream, whose interceptors run in a task of their own, from before its start until its last
/// response is read.
class InterceptedStream<R: ProtoMessage>: InterceptedCall<Void>, StreamTransport, @unchecked Sendable {
  // `@unchecked`: apart from constants of `Sendable` types, it has `responses` and `call`, which `start` sets. They are
  // read after `started` is known.

  private var responses: ResponseStream<R>?
  /// The call as the interceptors changed it.
  private var call: OutgoingCall
  private let mayStart = Atomic(true)
  /// The transport of the call that the interceptors have started; nil if they refused it.
  private let started = OneShot<StreamOwner?>()
  /// The end of that call, once it has been read.
  private let ended = OneShot<StreamEvent>()
  /// The end of the call after the interceptors.
  private let outcome = OneShot<StreamEvent>()
  private let task = OneShot<Task<Void, any Error>>()

  init(_ intercepted: InterceptedCaller, _ call: OutgoingCall) {
    self.call = call
    super.init(intercepted)
  }

  /// Makes the call. Runs once at most.
  func open(_ call: OutgoingCall) throws(RPCError) -> ResponseStream<R> { throw LocalFailure.cancelled() }

  /// Runs the interceptors, on this thread until they first suspend. Returns the responses for the caller.
  final func begin() -> ResponseStream<R> {
    let task = Task.immediately {
      do throws(RPCError) {
        try await run(call)
        finish()
      } catch {
        // The call itself may be open, if an interceptor did not wait for it.
        finish(with: error)
      }
    }
    self.task.set(task)
    if ended.known != nil { task.cancel() }
    return ResponseStream(self) { message throws(RPCError) in try self.received(message) }
  }

  /// Starts the call and waits for its end, which its reader reports. Throws the error that ended it.
  final override func make(_ call: OutgoingCall) async throws {
    let owner = try start(call)
    // An interceptor may cancel the call, for example after a time limit of its own.
    let end = await withTaskCancellationHandler {
      await ended.value()
    } onCancel: {
      ended.set(.failed(LocalFailure.cancelled()))
      owner.call.cancel(LocalFailure.cancelled())
    }
    if case .failed(let error) = end { throw error }
  }

  /// A function of its own, so that its frame is released before the wait for the end.
  @inline(never)
  private func start(_ call: OutgoingCall) throws -> StreamOwner {
    if mayStart.exchange(false, ordering: .relaxed) {
      let responses = try open(call)
      (self.responses, self.call) = (responses, call)
      if started.set(responses.raw.owner) { return responses.raw.owner }
      // Cancels the call.
      self.responses = nil
    }
    throw RPCError(.unknown, "the stream has ended, or was started before", reason: "INTERCEPTOR_FAILED")
  }

  /// Passes a response through the interceptors of the call itself, and then through these.
  private func received(_ message: R) throws(RPCError) -> R {
    try response(responses?.interceptor?(message) ?? message, call)
  }

  final func next() async -> StreamEvent {
    await withTaskCancellationHandler {
      if let owner = await started.value() {
        let event = await owner.call.next()
        if case .message = event { return event }
        ended.set(event)
      }
      return await outcome.value()
    } onCancel: {
      cancel(LocalFailure.cancelled())
    }
  }

  final func send(_ message: [UInt8]) async -> RPCError? {
    guard let owner = await started.value() else {
      return RPCError(.cancelled, "the call has already ended", reason: "CALL_ENDED")
    }
    return await owner.call.send(message)
  }

  final func cancel(_ error: RPCError) {
    finish(with: error)
    task.known?.cancel()
  }

  @inline(never)
  private func finish() {
    mayStart.store(false, ordering: .relaxed)
    outcome.set(.finished([]))
    started.set(nil)
  }

  @inline(never)
  private func finish(with error: RPCError) {
    mayStart.store(false, ordering: .relaxed)
    outcome.set(.failed(error))
    ended.set(.failed(error))
    started.set(nil)
    started.known??.call.cancel(error)
  }
}

final class InterceptedServerStream<Q: ProtoMessage, R: ProtoMessage>: InterceptedStream<R>, @unchecked Sendable {
  // `@unchecked`: `mayStart` admits one caller to `open`, which alone reads and changes the message.
  /// Nil once the call was made, so that it is released.
  private var message: Q?

  init(_ intercepted: InterceptedCaller, _ call: OutgoingCall, _ message: Q) {
    self.message = message
    super.init(intercepted, call)
  }

  override func open(_ call: OutgoingCall) throws(RPCError) -> ResponseStream<R> {
    guard let message else { throw LocalFailure.cancelled() }
    self.message = nil
    return try caller.serverStreaming(call.method, request(message, call), options: remaining(call))
  }
}

final class InterceptedBidirectionalStream<Q: ProtoMessage, R: ProtoMessage>: InterceptedStream<R>, @unchecked Sendable
{
  // `@unchecked` as its superclass: it adds a constant of a `Sendable` type.
  private let requests: @Sendable (RequestSink<Q>) async throws -> Void

  init(
    _ intercepted: InterceptedCaller, _ call: OutgoingCall,
    _ requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void
  ) {
    self.requests = requests
    super.init(intercepted, call)
  }

  override func open(_ call: OutgoingCall) throws(RPCError) -> ResponseStream<R> {
    caller.bidirectional(call.method, options: remaining(call), requests: intercepted(requests, call))
  }
}

/// A value that is set once, for which tasks wait.
private struct OneShot<Value: Sendable>: ~Copyable, Sendable {
  private enum State {
    case unknown
    /// One waits, as nearly always.
    case awaited(UnsafeContinuation<Value, Never>)
    case awaitedByMore([UnsafeContinuation<Value, Never>])
    case known(Value)
  }
  private let state = Mutex(State.unknown)

  var known: Value? {
    state.withLock { if case .known(let value) = $0 { value } else { nil } }
  }

  /// Sets the value. Returns false, without effect, if it was set before.
  @discardableResult
  func set(_ value: Value) -> Bool {
    let before = state.withLock { state in
      let before = state
      if case .known = before { return before }
      state = .known(value)
      return before
    }
    switch before {
    case .unknown: return true
    case .awaited(let continuation): continuation.resume(returning: value)
    case .awaitedByMore(let continuations): for continuation in continuations { continuation.resume(returning: value) }
    case .known: return false
    }
    return true
  }

  /// Waits for the value, regardless of cancellation.
  func value() async -> Value {
    await withUnsafeContinuation { continuation in
      let known = state.withLock { state -> Value? in
        switch state {
        case .known(let value): return value
        case .unknown: state = .awaited(continuation)
        case .awaited(let first): state = .awaitedByMore([first, continuation])
        case .awaitedByMore(let others): state = .awaitedByMore(others + [continuation])
        }
        return nil
      }
      if let known { continuation.resume(returning: known) }
    }
  }
}
