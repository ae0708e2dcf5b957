import CampanileBase
import CampanileCall

/// One attempt of a unary call: collects the response up to a limit.
final class UnaryExchange: HTTPReceiver {
  // A class, because the compiler's functions to copy such a struct are larger.
  private final class State {
    var head: HTTPHead?
    var body: [UInt8] = []
    var result: Result<[UInt8], RPCError>?
    var waiter: CheckedContinuation<Result<[UInt8], RPCError>, Never>?
    var handle: (any HTTPRequestHandle)?
  }

  private let state = Locked(State())
  private let sizeBytesMax: Int

  /// Whether the response must be JSON. Contents have other types.
  private let requiresJSON: Bool

  init(sizeBytesMax: Int, requiresJSON: Bool = true) {
    self.sizeBytesMax = sizeBytesMax
    self.requiresJSON = requiresJSON
  }

  /// Sends a request and returns the body of its response. Cancelling the task stops the request.
  func run(_ request: HTTPRequest, _ transport: any HTTPTransport) async throws(RPCError) -> [UInt8] {
    let result = await withTaskCancellationHandler {
      let handle = transport.start(request, self)
      let hasEnded = state.withLock { state in
        state.handle = handle
        return state.result != nil
      }
      if hasEnded { handle.cancel() }
      return await withCheckedContinuation { continuation in
        let result = state.withLock { state in
          if state.result == nil { state.waiter = continuation }
          return state.result
        }
        if let result { continuation.resume(returning: result) }
      }
    } onCancel: {
      finish(.failure(LocalFailure.cancelled()))
    }
    return try result.get()
  }

  func received(_ head: HTTPHead) {
    state.withLock { $0.head = head }
    if let length = head["content-length"].flatMap({ Int($0) }), length > sizeBytesMax {
      finish(.failure(ResponseLimit.error(sizeBytesMax)))
    }
  }

  func received(_ bytes: [UInt8]) {
    let isTooLong = state.withLock { state in
      guard state.result == nil, state.body.count + bytes.count <= sizeBytesMax else { return true }
      state.body += bytes
      return false
    }
    if isTooLong { finish(.failure(ResponseLimit.error(sizeBytesMax))) }
  }

  func ended(_ error: RPCError?) {
    if let error { return finish(.failure(error)) }
    let (head, body) = state.withLock { ($0.head, $0.body) }
    guard let head else { return finish(.failure(ConnectError.invalidResponse("it has no head"))) }
    guard head.status == 200 || head.status == 201 else { return finish(.failure(ConnectError.error(head, body))) }
    guard !requiresJSON || head.contentType == "application/json" else {
      // A page comes from a proxy, or from a network that requires a login.
      return finish(.failure(ConnectError.invalidResponse("its content type is \(head.contentType)")))
    }
    finish(.success(body))
  }

  /// Ends the attempt. Only the first result counts; a failure stops the request.
  func finish(_ result: Result<[UInt8], RPCError>) {
    let (waiter, handle) = state.withLock { state in
      guard state.result == nil else { return (state.waiter, state.handle) }
      state.result = result
      defer { (state.waiter, state.handle, state.body) = (nil, nil, []) }
      return (state.waiter, state.handle)
    }
    if case .failure = result { handle?.cancel() }
    waiter?.resume(returning: result)
  }
}
