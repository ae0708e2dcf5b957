import CampanileBase
import CampanileCodec
import Synchronization

/// A call with a response stream, whose interceptors run in a task of their own, from before its start until its last
/// response is read.
final class InterceptedStream<R: ProtoMessage>: InterceptedCall<Void>, StreamTransport, @unchecked Sendable {
  // `@unchecked` as its superclass: it has constants of `Sendable` types only.

  typealias Open = @Sendable (InterceptedStream, OutgoingCall) throws -> ResponseStream<R>

  /// A structure, because a function in an `Optional` is allocated again each time it is moved.
  private struct Opening { let open: Open }

  /// Opens the call, once; nil afterwards, so that what it holds is released.
  private let opening: Mutex<Opening?>
  /// The call that the interceptors have started, with the options that they chose; nil if they refused it.
  private let started = OneShot<(responses: ResponseStream<R>, call: OutgoingCall)?>()
  /// The end of that call, once it has been read.
  private let ended = OneShot<StreamEvent>()
  /// The end of the call after the interceptors.
  private let outcome = OneShot<StreamEvent>()
  private let task = OneShot<Task<Void, any Error>>()

  init(_ intercepted: InterceptedCaller, _ open: @escaping Open) {
    opening = Mutex(Opening(open: open))
    super.init(intercepted)
  }

  private var owner: StreamOwner? { started.known??.responses.raw.owner }

  /// Runs the interceptors, on this thread until they first suspend.
  func begin(_ call: OutgoingCall) {
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
  }

  /// Starts the call and waits for its end, which its reader reports. Throws the error that ended it.
  override func make(_ call: OutgoingCall) async throws {
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
    if let opening = takeOpening() {
      let responses = try opening.open(self, call)
      if started.set((responses, call)) { return responses.raw.owner }
    }
    throw RPCError(.unknown, "the stream has ended, or was started before", reason: "INTERCEPTOR_FAILED")
  }

  @discardableResult
  private func takeOpening() -> Opening? { opening.withLock { $0.take() } }

  /// Passes a response through the interceptors of the call itself, and then through these.
  func received(_ message: R) throws(RPCError) -> R {
    guard case .some(.some(let (responses, call))) = started.known else { return message }
    return try response(responses.interceptor?(message) ?? message, call)
  }

  func next() async -> StreamEvent {
    await withTaskCancellationHandler {
      if let owner = await started.value()?.responses.raw.owner {
        let event = await owner.call.next()
        if case .message = event { return event }
        ended.set(event)
      }
      return await outcome.value()
    } onCancel: {
      cancel(LocalFailure.cancelled())
    }
  }

  func send(_ message: [UInt8]) async -> RPCError? {
    guard let owner = await started.value()?.responses.raw.owner else {
      return RPCError(.cancelled, "the call has already ended", reason: "CALL_ENDED")
    }
    return await owner.call.send(message)
  }

  func cancel(_ error: RPCError) {
    finish(with: error)
    task.known?.cancel()
  }

  @inline(never)
  private func finish() {
    takeOpening()
    outcome.set(.finished([]))
    started.set(nil)
  }

  @inline(never)
  private func finish(with error: RPCError) {
    takeOpening()
    outcome.set(.failed(error))
    ended.set(.failed(error))
    started.set(nil)
    owner?.call.cancel(error)
  }
}

/// A value that is set once, for which tasks wait.
private struct OneShot<Value: Sendable>: ~Copyable, Sendable {
  private enum State {
    case unknown([UnsafeContinuation<Value, Never>])
    case known(Value)
  }
  private let state = Mutex(State.unknown([]))

  var known: Value? {
    state.withLock { if case .known(let value) = $0 { value } else { nil } }
  }

  /// Sets the value. Returns false, without effect, if it was set before.
  @discardableResult
  func set(_ value: Value) -> Bool {
    let waiting = state.withLock { state -> [UnsafeContinuation<Value, Never>]? in
      guard case .unknown(let waiting) = state else { return nil }
      state = .known(value)
      return waiting
    }
    for continuation in waiting ?? [] { continuation.resume(returning: value) }
    return waiting != nil
  }

  /// Waits for the value, regardless of cancellation.
  func value() async -> Value {
    await withUnsafeContinuation { continuation in
      let known = state.withLock { state -> Value? in
        switch state {
        case .known(let value): return value
        case .unknown(let waiting):
          state = .unknown(waiting + [continuation])
          return nil
        }
      }
      if let known { continuation.resume(returning: known) }
    }
  }
}
