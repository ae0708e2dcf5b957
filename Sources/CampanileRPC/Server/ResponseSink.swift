import CampanileBase
public import CampanileCodec
import NIOCore

/// The responses of a streaming call, and the tasks that wait to send one.
///
/// Confined to the call's event loop, to which every public entry point hops first; it and its subclass may therefore
/// be marked Sendable.
class ResponseWriter: @unchecked Sendable {
  let call: ServerCall
  /// The error that ended the call.
  private(set) final var ended: RPCError?
  private final var waiting: [CheckedContinuation<Void, any Error>] = []

  init(_ call: ServerCall) { self.call = call }

  final var loop: any EventLoop { call.eventLoop }

  final func canSend() {
    guard call.canSend else { return }
    let resumed = waiting
    waiting = []
    for continuation in resumed { continuation.resume() }
  }

  final func callEnded(_ error: RPCError) {
    ended = error
    resumeAll(throwing: error)
  }

  /// Waits until a message may be sent, from any thread. Throws the error that ended the call.
  final func wait() async throws {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        if loop.inEventLoop { wait(continuation) } else { loop.execute { self.wait(continuation) } }
      }
    } onCancel: {
      loop.execute { self.resumeAll(throwing: CancellationError()) }
    }
  }

  private final func wait(_ continuation: CheckedContinuation<Void, any Error>) {
    if let ended {
      continuation.resume(throwing: ended)
    } else if call.isAnswered {
      continuation.resume(throwing: RPCError(.cancelled, "the call has already ended", reason: "CALL_ENDED"))
    } else if call.canSend {
      continuation.resume()
    } else {
      waiting.append(continuation)
    }
  }

  private final func resumeAll(throwing error: any Error) {
    for continuation in waiting { continuation.resume(throwing: error) }
    waiting = []
  }
}

/// Sends the messages of a response stream.
public struct ResponseSink<Message: ProtoMessage>: Sendable {
  private let writer: ResponseWriter
  /// Nil if the call has no interceptors.
  private var interceptors: InterceptedMessages?

  init(_ writer: ResponseWriter) { self.writer = writer }

  /// Returns the sink with each message passed through interceptors, once it may be sent.
  func intercepted(_ interceptors: InterceptedMessages) -> ResponseSink {
    var intercepted = self
    intercepted.interceptors = interceptors
    return intercepted
  }

  /// Sends one message once the caller has granted credit and the connection is writable. Throws the error that ended
  /// the call.
  public func send(_ message: Message) async throws {
    while true {
      let loop = writer.loop
      let isSent = try loop.inEventLoop ? attempt(message) : await loop.submit { try attempt(message) }.get()
      if isSent { return }
      try await writer.wait()
    }
  }

  /// Sends a message unless it has to wait.
  private func attempt(_ message: Message) throws -> Bool {
    guard writer.call.canSend else { return false }
    return writer.call.send(try interceptors?.response(message) ?? message)
  }

  /// Sends the message that `next` returns, which is called once a message may be sent. Returns false if `next` returns
  /// nil.
  ///
  /// Intended for long-lived streams: no message is held while this waits, so an idle watch uses no memory for one in
  /// its task. Throws the error that ended the call, or that of `next`.
  public func send(next: () throws -> Message?) async throws -> Bool {
    while true {
      if writer.loop.inEventLoop {
        if writer.call.canSend { return try make(next) }
      } else if let box = try box(next) {
        try await box.send(to: self)
        return true
      } else {
        return false
      }
      try await writer.wait()
    }
  }

  @inline(never)
  private func make(_ next: () throws -> Message?) throws -> Bool {
    guard let message = try next() else { return false }
    return try attempt(message)
  }

  @inline(never)
  private func box(_ next: () throws -> Message?) throws -> MessageBox? { try next().map(MessageBox.init) }

  private final class MessageBox: Sendable {
    private let message: Message
    init(_ message: Message) { self.message = message }
    func send(to sink: ResponseSink) async throws { try await sink.send(message) }
  }
}
