import CampanileBase
import CampanileCall

/// The responses of a streaming call: a bounded queue between the connection and the reader.
final class StreamCall: StreamTransport {
  // A class, because the compiler's functions to copy such a struct are larger.
  private final class State {
    var unread: [StreamEvent] = []
    var nextIndex = 0
    var unreadBytes = 0
    var end: StreamEvent?
    var waiter: CheckedContinuation<StreamEvent, Never>?
    /// Stop the request and the task that sent it.
    var stops: [@Sendable () -> Void] = []

    func takeFirst() -> StreamEvent? {
      guard nextIndex < unread.count else { return nil }
      let event = unread[nextIndex]
      if case .message(let bytes) = event { unreadBytes -= bytes.count }
      nextIndex += 1
      if nextIndex == unread.count {
        (unread, nextIndex) = ([], 0)
      } else if nextIndex >= 64 {
        unread.removeFirst(nextIndex)
        nextIndex = 0
      }
      return event
    }
  }

  private let state = Locked(State())
  private let unreadBytesMax: Int

  init(unreadBytesMax: Int) { self.unreadBytesMax = unreadBytesMax }

  /// Registers a closure that stops a part of the call. Runs it at once if the call has ended.
  func onEnd(_ stop: @escaping @Sendable () -> Void) {
    let hasEnded = state.withLock { state in
      if state.end == nil { state.stops.append(stop) }
      return state.end != nil
    }
    if hasEnded { stop() }
  }

  /// Appends a message. A reader that has left too much unread receives it, and then the end of the stream.
  func append(_ message: [UInt8]) {
    let isSlow = state.withLock { state in
      guard state.end == nil else { return false }
      if let waiter = state.waiter {
        state.waiter = nil
        waiter.resume(returning: .message(message))
        return false
      }
      state.unread.append(.message(message))
      state.unreadBytes += message.count
      return state.unreadBytes > unreadBytesMax
    }
    guard isSlow else { return }
    finish(
      .failed(
        RPCError(
          .resourceExhausted, "the stream's reader left more than \(unreadBytesMax) bytes unread; read faster",
          reason: "SLOW_CONSUMER")))
  }

  /// Ends the stream after the messages that were received. Only the first end counts.
  func finish(_ end: StreamEvent, keepsUnread: Bool = true) {
    let (waiter, stops) = state.withLock {
      state -> (CheckedContinuation<StreamEvent, Never>?, [@Sendable () -> Void]) in
      guard state.end == nil else { return (nil, []) }
      state.end = end
      if !keepsUnread { (state.unread, state.nextIndex) = ([], 0) }
      defer { (state.waiter, state.stops) = (nil, []) }
      return (state.waiter, state.stops)
    }
    waiter?.resume(returning: end)
    for stop in stops { stop() }
  }

  func next() async -> StreamEvent {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let event = state.withLock { state -> StreamEvent? in
          if let event = state.takeFirst() ?? state.end { return event }
          state.waiter = continuation
          return nil
        }
        if let event { continuation.resume(returning: event) }
      }
    } onCancel: {
      cancel(LocalFailure.cancelled())
    }
  }

  func send(_ message: [UInt8]) async -> RPCError? { HTTPCaller.requestsUnsupported }

  func cancel(_ error: RPCError) { finish(.failed(error), keepsUnread: false) }
}
