import CampanileBase
import CampanileCall

/// One attempt of a streaming call: waits for the head of the response, then forwards its messages.
final class StreamAttempt: HTTPReceiver {
  // A class, because the compiler's functions to copy such a struct are larger.
  private final class State {
    var head: HTTPHead?
    /// The body of a refusal.
    var refusal: [UInt8] = []
    var envelopes: EnvelopeReader
    var isOpen = false
    var failure: RPCError?
    var waiter: CheckedContinuation<RPCError?, Never>?
    var handle: (any HTTPRequestHandle)?

    init(messageBytesMax: Int) { envelopes = EnvelopeReader(messageBytesMax: messageBytesMax) }
  }

  private let state: Locked<State>
  private let call: StreamCall

  init(_ call: StreamCall, messageBytesMax: Int) {
    self.call = call
    state = Locked(State(messageBytesMax: messageBytesMax))
  }

  /// Sends a request and returns once its response is a stream, whose messages `call` then receives.
  ///
  /// - Throws: The error of a response that is not a stream, or of the connection. `call` then receives nothing.
  func open(_ request: HTTPRequest, _ transport: any HTTPTransport) async throws(RPCError) {
    let failure = await withTaskCancellationHandler {
      let handle = transport.start(request, self)
      let hasFailed = state.withLock { state in
        state.handle = handle
        return state.failure != nil
      }
      if hasFailed { handle.cancel() }
      return await withCheckedContinuation { continuation in
        let isDone = state.withLock { state in
          guard !state.isOpen, state.failure == nil else { return true }
          state.waiter = continuation
          return false
        }
        if isDone { continuation.resume(returning: state.withLock { $0.isOpen ? nil : $0.failure }) }
      }
    } onCancel: {
      finish(LocalFailure.cancelled())
    }
    if let failure { throw failure }
  }

  func received(_ head: HTTPHead) {
    let isStream = head.status == 200 && head.contentType == "application/connect+json"
    let waiter = state.withLock { state -> CheckedContinuation<RPCError?, Never>? in
      state.head = head
      guard isStream, state.failure == nil else { return nil }
      state.isOpen = true
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume(returning: nil)
  }

  func received(_ bytes: [UInt8]) {
    let read = state.withLock { state -> Result<[EnvelopeReader.Envelope], RPCError> in
      guard state.isOpen, state.failure == nil else {
        if state.refusal.count <= ConnectError.sizeBytesMax { state.refusal += bytes }
        return .success([])
      }
      state.envelopes.append(bytes)
      return Self.all(&state.envelopes)
    }
    switch read {
    case .success(let envelopes): for envelope in envelopes { deliver(envelope) }
    case .failure(let error): finish(error)
    }
  }

  private static func all(_ reader: inout EnvelopeReader) -> Result<[EnvelopeReader.Envelope], RPCError> {
    Result { () throws(RPCError) in
      var envelopes: [EnvelopeReader.Envelope] = []
      while let envelope = try reader.next() { envelopes.append(envelope) }
      return envelopes
    }
  }

  private func deliver(_ envelope: EnvelopeReader.Envelope) {
    switch envelope {
    case .message(let message): call.append(message)
    case .end(let status):
      do throws(RPCError) {
        call.finish(try ConnectError.streamError(status).map { .failed($0) } ?? .finished([]))
      } catch {
        call.finish(.failed(error))
      }
    }
  }

  func ended(_ error: RPCError?) {
    let (head, refusal, isOpen) = state.withLock { ($0.head, $0.refusal, $0.isOpen) }
    if let error { return finish(error) }
    if isOpen { return finish(LocalFailure.connectionLost("the stream has no end", processed: true)) }
    guard let head else { return finish(ConnectError.invalidResponse("it has no head")) }
    finish(
      head.status == 200
        ? ConnectError.invalidResponse("its content type is \(head.contentType)") : ConnectError.error(head, refusal))
  }

  /// Ends the attempt with an error. No effect on a call that has its end.
  func finish(_ error: RPCError) {
    let (waiter, handle, wasOpen) = state.withLock { state in
      defer {
        if state.failure == nil { state.failure = error }
        state.waiter = nil
      }
      return (state.waiter, state.handle, state.isOpen)
    }
    handle?.cancel()
    waiter?.resume(returning: error)
    if wasOpen { call.finish(.failed(error)) }
  }

  /// Stops the request.
  func stop() { state.withLock { $0.handle }?.cancel() }
}
