import CampanileBase
public import CampanileCodec
import NIOCore

/// Connects a streaming call's event loop with its handler's task: incoming messages, outgoing credit, and waiting
/// readers and writers.
///
/// Confined to the call's event loop, to which every public entry point hops first; it may therefore be marked
/// Sendable.
final class StreamHandler<Element: Sendable>: ServerCallHandler, TaskOwner, @unchecked Sendable {
  let call: ServerCall
  var task: Task<Void, any Error>? {
    didSet { if ended != nil { task?.cancel() } }
  }
  private let decode: ((UnsafeRawBufferPointer) throws(RPCError) -> Element)?
  /// Received messages, at most as many as the caller has credit for, each with the bytes that it took of it.
  private var messages: [(element: Element, sizeBytes: Int)] = []
  private var isHalfClosed = false
  private var ended: RPCError?
  private var consumed = ConsumedCredit()
  private var reader: CheckedContinuation<Element?, any Error>?
  private var writers: [CheckedContinuation<Void, any Error>] = []

  init(_ call: ServerCall, decode: ((UnsafeRawBufferPointer) throws(RPCError) -> Element)?) {
    self.call = call
    self.decode = decode
  }

  var loop: any EventLoop { call.eventLoop }

  // MARK: from the connection

  func receive(message: UnsafeRawBufferPointer, sizeBytes: Int) {
    guard let decode else {
      return call.end(
        RPCError(.invalidArgument, "the method takes one request, which are its params", reason: "STREAM_UNEXPECTED"))
    }
    do throws(RPCError) {
      let element = try decode(message)
      if let reader {
        self.reader = nil
        consume(bytes: sizeBytes)
        reader.resume(returning: element)
      } else {
        messages.append((element, sizeBytes))
        call.queued(bytes: sizeBytes)
      }
    } catch { call.end(error) }
  }

  func halfClosed() {
    isHalfClosed = true
    reader?.resume(returning: nil)
    reader = nil
  }

  func cancelled(_ error: RPCError) {
    ended = error
    task?.cancel()
    reader?.resume(throwing: error)
    reader = nil
    for writer in writers { writer.resume(throwing: error) }
    writers = []
  }

  func canSend() {
    guard call.canSend else { return }
    let waiting = writers
    writers = []
    for writer in waiting { writer.resume() }
  }

  private func consume(bytes: Int) {
    if let grant = consumed.consumed(bytes: bytes) { call.grantCredit(grant) }
  }

  // MARK: from the handler, on the loop

  func read(_ continuation: CheckedContinuation<Element?, any Error>) {
    if !messages.isEmpty {
      let next = messages.removeFirst()
      call.dequeued(bytes: next.sizeBytes)
      consume(bytes: next.sizeBytes)
      continuation.resume(returning: next.element)
    } else if let ended {
      continuation.resume(throwing: ended)
    } else if isHalfClosed {
      continuation.resume(returning: nil)
    } else if reader != nil {
      continuation.resume(
        throwing: RPCError(.internalError, "a request stream can have only one reader", reason: "STREAM_HAS_READER"))
    } else {
      reader = continuation
    }
  }

  func cancelRead() {
    reader?.resume(throwing: CancellationError())
    reader = nil
  }

  func waitToSend(_ continuation: CheckedContinuation<Void, any Error>) {
    if let ended {
      continuation.resume(throwing: ended)
    } else if call.isAnswered {
      continuation.resume(throwing: RPCError(.cancelled, "the call has already ended", reason: "CALL_ENDED"))
    } else if call.canSend {
      continuation.resume()
    } else {
      writers.append(continuation)
    }
  }

  func cancelWaiting() {
    for writer in writers { writer.resume(throwing: CancellationError()) }
    writers = []
  }
}

/// The caller's streamed messages, in order. Ends when the caller half-closes; otherwise throws the error that ended
/// the call.
///
/// It can have only one reader. The caller gets more credit as messages are read. At most 32 messages wait here, and
/// 1 MiB and one frame of them.
public struct RequestStream<Message: ProtoMessage>: AsyncSequence, Sendable {
  public typealias Element = Message
  private let stream: StreamHandler<Message>
  private var interceptor: (@Sendable (Message) throws -> Message)?

  init(_ stream: StreamHandler<Message>) { self.stream = stream }

  /// Returns the stream with `interceptor` applied to each message.
  func intercepted(_ interceptor: @escaping @Sendable (Message) throws -> Message) -> RequestStream {
    var intercepted = self
    intercepted.interceptor = interceptor
    return intercepted
  }

  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let stream: StreamHandler<Message>
    fileprivate let interceptor: (@Sendable (Message) throws -> Message)?

    public func next() async throws -> Message? {
      guard let interceptor else { return try await received() }
      return try await received().map(interceptor)
    }

    private func received() async throws -> Message? {
      let stream = stream
      return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          if stream.loop.inEventLoop {
            stream.read(continuation)
          } else {
            stream.loop.execute { stream.read(continuation) }
          }
        }
      } onCancel: {
        stream.loop.execute { stream.cancelRead() }
      }
    }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(stream: stream, interceptor: interceptor) }
}

/// Sends the messages of a response stream.
public struct ResponseSink<Message: ProtoMessage>: Sendable {
  private let canSend: @Sendable () -> Bool
  private let attempt: @Sendable (Message) throws -> Bool
  private let wait: @Sendable () async throws -> Void
  private let loop: any EventLoop

  init<Element>(_ stream: StreamHandler<Element>) {
    loop = stream.loop
    canSend = { stream.call.canSend }
    attempt = { message in stream.call.canSend && stream.call.send(message) }
    wait = {
      try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          if stream.loop.inEventLoop {
            stream.waitToSend(continuation)
          } else {
            stream.loop.execute { stream.waitToSend(continuation) }
          }
        }
      } onCancel: {
        stream.loop.execute { stream.cancelWaiting() }
      }
    }
  }

  /// Creates a sink that applies `interceptor` to each message once it may be sent.
  private init(_ sink: ResponseSink, _ interceptor: @escaping @Sendable (Message) throws -> Message) {
    canSend = sink.canSend
    attempt = { message in try sink.canSend() && sink.attempt(interceptor(message)) }
    wait = sink.wait
    loop = sink.loop
  }

  func intercepted(_ interceptor: @escaping @Sendable (Message) throws -> Message) -> ResponseSink {
    ResponseSink(self, interceptor)
  }

  /// Sends one message once the caller has granted credit and the connection is writable. Throws the error that ended
  /// the call.
  public func send(_ message: Message) async throws {
    while true {
      let isSent = try loop.inEventLoop ? attempt(message) : await loop.submit { try attempt(message) }.get()
      if isSent { return }
      try await wait()
    }
  }

  /// Sends the message that `next` returns, which is called once a message may be sent. Returns false if `next` returns
  /// nil.
  ///
  /// Intended for long-lived streams: no message is held while this waits, so an idle watch uses no memory for one in
  /// its task. Throws the error that ended the call, or that of `next`.
  public func send(next: () throws -> Message?) async throws -> Bool {
    while true {
      if loop.inEventLoop {
        if canSend() { return try make(next) }
      } else if let box = try box(next) {
        try await box.send(to: self)
        return true
      } else {
        return false
      }
      try await wait()
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
