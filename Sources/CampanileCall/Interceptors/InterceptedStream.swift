import CampanileBase
import Synchronization

/// A streaming call whose interceptors run in a task of their own, from before its start until its last response is
/// read.
final class InterceptedStream: StreamTransport {
  /// The call that the interceptors have started, with the options that they chose; nil if they refused it.
  private let started = OneShot<(owner: StreamOwner, call: OutgoingCall)?>()
  /// The end of that call, once it has been read.
  private let ended = OneShot<StreamEvent>()
  /// The end of the call after the interceptors.
  private let outcome = OneShot<StreamEvent>()
  private let task = OneShot<Task<Void, any Error>>()

  var call: OutgoingCall? { started.known??.call }

  /// Runs the interceptors, on this thread until they first suspend.
  func run(_ interceptors: @escaping @Sendable () async throws(RPCError) -> Void) {
    let task = Task.immediately {
      do throws(RPCError) {
        try await interceptors()
        outcome.set(.finished([]))
      } catch {
        // The call itself may be open, if an interceptor did not wait for it.
        finish(with: error)
      }
      started.set(nil)
    }
    self.task.set(task)
    if ended.known != nil { task.cancel() }
  }

  /// Waits for the end of the call, which its reader reports. Throws the error that ended it.
  func follow(_ owner: StreamOwner, _ call: OutgoingCall) async throws(RPCError) {
    guard started.set((owner, call)) else {
      throw RPCError(.unknown, "the stream has ended, or was started before", reason: "INTERCEPTOR_FAILED")
    }
    // An interceptor may cancel the call, for example after a time limit of its own.
    let end = await withTaskCancellationHandler {
      await ended.value()
    } onCancel: {
      ended.set(.failed(LocalFailure.cancelled()))
      owner.call.cancel(LocalFailure.cancelled())
    }
    if case .failed(let error) = end { throw error }
  }

  func next() async -> StreamEvent {
    await withTaskCancellationHandler {
      if let owner = await started.value()?.owner {
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
    guard let owner = await started.value()?.owner else {
      return RPCError(.cancelled, "the call has already ended", reason: "CALL_ENDED")
    }
    return await owner.call.send(message)
  }

  func cancel(_ error: RPCError) {
    finish(with: error)
    task.known?.cancel()
  }

  private func finish(with error: RPCError) {
    outcome.set(.failed(error))
    ended.set(.failed(error))
    started.set(nil)
    started.known??.owner.call.cancel(error)
  }
}

/// A value that is set once, for which tasks wait.
private final class OneShot<Value: Sendable>: Sendable {
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
