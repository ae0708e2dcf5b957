import CampanileBase
public import CampanileCall
public import CampanileCodec
import Synchronization

/// A peer without a network: records the calls of a generated client, and returns prepared responses.
///
/// Pass it to a generated client in place of `RPCClient`, for tests of code that calls other services. A call without
/// a prepared response fails with UNIMPLEMENTED `NO_RESPONSE`.
public final class RecordingPeer: RPCCaller {
  /// A call that a client has made.
  public struct Call: Sendable {
    public let method: MethodDescriptor
    public let options: CallOptions
    /// The requests in JSON: one, or those of a stream.
    public let requestsJSON: [[UInt8]]

    /// Returns the requests.
    ///
    /// - Throws: `ProtoJSONError` if they have another type.
    public func requests<Q: ProtoMessage>(as type: Q.Type = Q.self) throws(ProtoJSONError) -> [Q] {
      var requests: [Q] = []
      for bytes in requestsJSON { requests.append(try Q(jsonUTF8: bytes)) }
      return requests
    }
  }

  private struct State {
    var calls: [Call] = []
    var responders: [String: @Sendable ([[UInt8]]) throws -> [[UInt8]]] = [:]
  }
  private let state = Mutex(State())

  public init() {}

  /// The calls so far, in their order.
  public var calls: [Call] { state.withLock { $0.calls } }

  /// Prepares the response to calls with one request and one response.
  ///
  /// - Parameter response: Returns the response, or throws the `RPCError` of the call.
  public func respond<Q: ProtoMessage, R: ProtoMessage>(
    to method: MethodDescriptor, with response: @escaping @Sendable (Q) throws -> R
  ) {
    respond(to: method) { (requests: [Q]) in
      guard let request = requests.first else { throw RPCError(.internalError, "\(method.path) has no request") }
      return [try response(request)]
    }
  }

  /// Prepares the responses to calls of any kind. All requests of a stream are read before the responses.
  ///
  /// - Parameter responses: Returns the responses, or throws the `RPCError` of the call.
  public func respond<Q: ProtoMessage, R: ProtoMessage>(
    to method: MethodDescriptor, with responses: @escaping @Sendable ([Q]) throws -> [R]
  ) {
    state.withLock { state in
      state.responders[method.path] = { requests in
        try responses(requests.map { try Q(jsonUTF8: $0) }).map { $0.jsonUTF8Bytes() }
      }
    }
  }

  /// Records a call.
  ///
  /// - Returns: Its responses in JSON.
  private func responses(
    to method: MethodDescriptor, _ options: CallOptions, _ requests: [[UInt8]]
  ) throws(RPCError) -> [[UInt8]] {
    let responder = state.withLock { state in
      state.calls.append(Call(method: method, options: options, requestsJSON: requests))
      return state.responders[method.path]
    }
    guard let responder else {
      throw RPCError(.unimplemented, "no response to \(method.path) is prepared", reason: "NO_RESPONSE")
    }
    do { return try responder(requests) } catch { throw Self.rpcError(error) }
  }

  private static func rpcError(_ error: any Error) -> RPCError {
    (error as? RPCError) ?? (error as? any RPCErrorConvertible)?.rpcError ?? RPCError(.unknown, "\(error)")
  }

  private func response<R: ProtoMessage>(
    to method: MethodDescriptor, _ options: CallOptions, _ requests: [[UInt8]]
  ) throws(RPCError) -> R {
    guard let response = try responses(to: method, options, requests).first else {
      throw RPCError(.internalError, "the prepared response to \(method.path) is empty", reason: "NO_RESPONSE")
    }
    return try R(responseJSON: response)
  }

  // MARK: - RPCCaller

  public func unary<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, options: CallOptions
  ) async throws -> R {
    try response(to: method, options, [request.jsonUTF8Bytes()])
  }

  public func serverStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, options: CallOptions
  ) -> ResponseStream<R> {
    let request = request.jsonUTF8Bytes()
    return ResponseStream(
      PreparedStream { _ throws(RPCError) in try self.responses(to: method, options, [request]) })
  }

  public func clientStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, options: CallOptions,
    requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void
  ) async throws -> R {
    let stream = PreparedStream { _ throws(RPCError) in [] }
    do { try await requests(RequestSink(stream)) } catch { throw Self.rpcError(error) }
    return try response(to: method, options, stream.sent)
  }

  public func bidirectional<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, options: CallOptions,
    requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void
  ) -> ResponseStream<R> {
    ResponseStream(
      PreparedStream { stream throws(RPCError) in
        do { try await requests(RequestSink(stream)) } catch { throw Self.rpcError(error) }
        return try self.responses(to: method, options, stream.sent)
      })
  }
}

/// The transport of a stream that records requests, and makes its responses when the first one is read.
private final class PreparedStream: StreamTransport {
  private struct State {
    var sent: [[UInt8]] = []
    var waiting: [[UInt8]] = []
    /// The end of the call, nil before its responses are made.
    var end: StreamEvent?
  }
  private let state = Mutex(State())
  private let makeResponses: @Sendable (PreparedStream) async throws(RPCError) -> [[UInt8]]

  init(_ makeResponses: @escaping @Sendable (PreparedStream) async throws(RPCError) -> [[UInt8]]) {
    self.makeResponses = makeResponses
  }

  var sent: [[UInt8]] { state.withLock { $0.sent } }

  func next() async -> StreamEvent {
    if state.withLock({ $0.end == nil }) {
      do throws(RPCError) {
        let responses = try await makeResponses(self)
        state.withLock { if $0.end == nil { ($0.waiting, $0.end) = (responses, .finished([])) } }
      } catch {
        state.withLock { if $0.end == nil { $0.end = .failed(error) } }
      }
    }
    return state.withLock { state in
      state.waiting.isEmpty ? state.end ?? .finished([]) : .message(state.waiting.removeFirst())
    }
  }

  func send(_ message: [UInt8]) async -> RPCError? {
    state.withLock { state in
      if case .failed(let error) = state.end { return error }
      state.sent.append(message)
      return nil
    }
  }

  func cancel(_ error: RPCError) { state.withLock { ($0.waiting, $0.end) = ([], .failed(error)) } }
}
