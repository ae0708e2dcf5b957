public import CampanileAPI
import CampanileBase
public import CampanileRPC
import Synchronization

/// Implements `campanile.rpc.v1.EchoService`, which has a method for each call shape, for conformance and load tests.
public final class EchoService: EchoServiceProtocol {
  /// Maximum number of keys whose executions `Fail` counts. Beyond it: RESOURCE_EXHAUSTED `KEYS_EXHAUSTED`.
  public static let keyCountMax = 10_000
  private let executions = Mutex<[String: Int32]>([:])

  public init() {}

  public func echo(_ request: EchoRequest, context: CallContext) async throws -> EchoResponse {
    try Self.check(request.delayMs, 0...600_000, field: "delayMs")
    if request.delayMs > 0 { try await Task.sleep(for: .milliseconds(request.delayMs)) }
    return EchoResponse(payload: request.payload)
  }

  public func expand(
    _ request: ExpandRequest, context: CallContext, responses: ResponseSink<ExpandResponse>
  ) async throws {
    try Self.check(request.count, 0...1_000_000, field: "count")
    try Self.check(request.intervalMs, 0...600_000, field: "intervalMs")
    var response = ExpandResponse(payload: request.payload)
    for index in 0..<request.count {
      if index > 0, request.intervalMs > 0 { try await Task.sleep(for: .milliseconds(request.intervalMs)) }
      response.index = index
      try await responses.send(response)
    }
  }

  public func collect(
    _ requests: RequestStream<CollectRequest>, context: CallContext
  ) async throws -> CollectResponse {
    var response = CollectResponse()
    for try await request in requests {
      response.messageCount += 1
      response.payloadSizeBytes += Int64(request.payload.utf8.count)
    }
    return response
  }

  public func chat(
    _ requests: RequestStream<ChatRequest>, context: CallContext, responses: ResponseSink<ChatResponse>
  ) async throws {
    var response = ChatResponse()
    for try await request in requests {
      response.payload = request.payload
      try await responses.send(response)
      response.index &+= 1
    }
  }

  public func fail(_ request: FailRequest, context: CallContext) async throws -> FailResponse {
    guard let code = RPCError.Code(rawValue: Int(request.code)) else {
      throw RPCError.invalidField("code", "must be a gRPC status number from 1 to 16")
    }
    try Self.check(request.times, 0...1_000_000, field: "times")
    let count = try executions.withLock { executions throws(RPCError) -> Int32 in
      guard executions.count < Self.keyCountMax || executions[request.key] != nil else {
        throw RPCError(.resourceExhausted, "already counting \(Self.keyCountMax) keys", reason: "KEYS_EXHAUSTED")
      }
      let count = (executions[request.key] ?? 0) &+ 1
      executions[request.key] = count
      return count
    }
    guard request.times > 0, count > request.times else {
      throw RPCError(code, request.message, reason: "FAILED_AS_ASKED", errorMetadata: ["executionCount": String(count)])
    }
    return FailResponse(executionCount: count)
  }

  private static func check(_ value: Int32, _ range: ClosedRange<Int32>, field: String) throws(RPCError) {
    guard range.contains(value) else {
      throw .invalidField(field, "must be \(range.lowerBound) to \(range.upperBound)", reason: "OUT_OF_RANGE")
    }
  }
}
