import CampanileBase
public import CampanileCodec
import NIOCore

/// Connects a streaming call's event loop with its handler's task: incoming messages and waiting readers, in addition
/// to its responses.
///
/// Confined to the call's event loop, to which every public entry point hops first; it may therefore be marked
/// Sendable.
final class StreamHandler<Element: Sendable>: ResponseWriter, ServerCallHandler, @unchecked Sendable {
  var task: Task<Void, any Error>? {
    didSet { if ended != nil { task?.cancel() } }
  }
  private let decode: ((UnsafeRawBufferPointer) throws(RPCError) -> Element)?
  /// Received messages, at most as many as the caller has credit for, each with the bytes that it took of it.
  private var messages: [(element: Element, sizeBytes: Int)] = []
  private var isHalfClosed = false
  private var consumed = ConsumedCredit()
  private var reader: CheckedContinuation<Element?, any Error>?

  init(_ call: ServerCall, decode: ((UnsafeRawBufferPointer) throws(RPCError) -> Element)?) {
    self.decode = decode
    super.init(call)
  }

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
    task?.cancel()
    callEnded(error)
    reader?.resume(throwing: error)
    reader = nil
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
}

/// The caller's streamed messages, in order. Ends when the caller half-closes; otherwise throws the error that ended
/// the call.
///
/// It can have only one reader. The caller gets more credit as messages are read. At most 32 messages wait here, and
/// 1 MiB and one frame of them.
public struct RequestStream<Message: ProtoMessage>: AsyncSequence, Sendable {
  public typealias Element = Message
  private let stream: StreamHandler<Message>
  /// Nil if the call has no interceptors.
  private var interceptors: InterceptedMessages?

  init(_ stream: StreamHandler<Message>) { self.stream = stream }

  /// Returns the stream with each message passed through interceptors.
  func intercepted(_ interceptors: InterceptedMessages) -> RequestStream {
    var intercepted = self
    intercepted.interceptors = interceptors
    return intercepted
  }

  public struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate let stream: StreamHandler<Message>
    fileprivate let interceptors: InterceptedMessages?

    public func next() async throws -> Message? {
      guard let interceptors else { return try await received() }
      return try await received().map(interceptors.request)
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

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(stream: stream, interceptors: interceptors) }
}
