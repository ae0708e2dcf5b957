import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService
import DequeModule
import Synchronization

/// The newest requests for faults with a request id, in memory: a repetition returns the first response.
final class FaultRequests: Sendable {
  private static let retentionMs: Int64 = 24 * 3_600_000

  private struct Entry: Sendable {
    var caller: String
    var request: CreateFaultRequest
    var response: CreateFaultResponse
    var atMs: Int64
  }

  private let countMax: Int
  private let entries = Mutex<Deque<Entry>>([])

  init(countMax: Int) { self.countMax = countMax }

  /// Returns the response to the first request with this id, or that of `create`.
  ///
  /// - Throws: FAILED_PRECONDITION, reason `REQUEST_ID_REUSED`, if the id was used for another request.
  func perform(
    _ request: CreateFaultRequest, caller: String, nowMs: Int64, create: () throws(RPCError) -> CreateFaultResponse
  ) throws(RPCError) -> CreateFaultResponse {
    guard !request.requestId.isEmpty else { return try create() }
    return try entries.withLock { entries throws(RPCError) in
      entries.removeAll { nowMs - $0.atMs > Self.retentionMs }
      if let known = entries.first(where: { $0.caller == caller && $0.request.requestId == request.requestId }) {
        guard known.request == request else { throw .requestIDReused }
        return known.response
      }
      let response = try create()
      if entries.count >= countMax { entries.removeFirst() }
      entries.append(Entry(caller: caller, request: request, response: response, atMs: nowMs))
      return response
    }
  }
}
