@testable import CampanileClient

/// A caller whose streams and unary calls are prepared.
final class FakeCaller: RPCCaller, JSONCaller {
  typealias Answer = @Sendable (_ method: String, _ json: [UInt8]) async -> RPCError?

  private let streams: Locked<[(responses: [String], end: RPCError?)]>
  private let streamed = Locked<[String]>([])
  private let called = Locked<[String]>([])
  private let answer: Answer

  /// - Parameters:
  ///   - streams: The responses of each stream, and the error at its end. Further streams wait forever.
  ///   - answer: Returns the error of a unary call.
  init(streams: [(responses: [String], end: RPCError?)] = [], answer: @escaping Answer = { _, _ in nil }) {
    self.streams = Locked(streams)
    self.answer = answer
  }

  /// The requests of streams, in JSON.
  var streamRequests: [String] { streamed.withLock { $0 } }
  /// The requests of unary calls, in JSON.
  var requests: [String] { called.withLock { $0 } }

  func serverStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, options: CallOptions
  ) -> ResponseStream<R> {
    streamed.withLock { $0.append(request.jsonString()) }
    let call = StreamCall(unreadBytesMax: .max)
    if let next = streams.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
      for response in next.responses { call.append(Array(response.utf8)) }
      call.finish(next.end.map { .failed($0) } ?? .finished([]))
    }
    return ResponseStream(call)
  }

  func call(
    _ method: MethodDescriptor, json: [UInt8], options: CallOptions
  ) async throws(RPCError) -> [UInt8] {
    called.withLock { $0.append(String(decoding: json, as: UTF8.self)) }
    if let error = await answer(method.path, json) { throw error }
    return Array("{}".utf8)
  }

  func unary<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, options: CallOptions
  ) async throws -> R {
    try R(responseJSON: try await call(method, json: request.jsonUTF8Bytes(), options: options))
  }

  func clientStreaming<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, options: CallOptions,
    requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void
  ) async throws -> R { throw HTTPCaller.requestsUnsupported }

  func bidirectional<Q: ProtoMessage, R: ProtoMessage>(
    _ method: MethodDescriptor, options: CallOptions,
    requests: @escaping @Sendable (RequestSink<Q>) async throws -> Void
  ) -> ResponseStream<R> { ResponseStream(StreamCall(unreadBytesMax: 0)) }
}
