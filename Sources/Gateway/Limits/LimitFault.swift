import CampanileBase
import CampanileRPC

/// Errors of the limits. Each states that no handler ran, and when to retry.
enum LimitFault {
  private static let callerReasons: Set<String> = ["RATE_LIMITED", "CALLS_EXHAUSTED", "STREAMS_EXHAUSTED"]

  /// Reports whether the caller itself exceeded a limit.
  static func isOfCaller(_ error: RPCError) -> Bool {
    error.code == .resourceExhausted && callerReasons.contains(error.reason)
  }

  /// - Parameter limit: `nil` if the limit was removed in the meantime.
  static func rate(_ what: String, _ limit: RateLimit?, waitNs: Int64) -> RPCError {
    let perSecond = limit.map { String($0.perSecond) } ?? "the allowed"
    return RPCError(
      .resourceExhausted, "more than \(perSecond) calls a second \(what)", reason: "RATE_LIMITED",
      errorMetadata: limit.map { ["limit": String($0.perSecond), "burst": String($0.burst)] } ?? [:],
      retryAfterMs: max(1, (waitNs + 999_999) / 1_000_000), processed: false)
  }

  static func calls(_ countMax: Int) -> RPCError {
    RPCError(
      .resourceExhausted, "the caller has \(countMax) calls in progress", reason: "CALLS_EXHAUSTED",
      errorMetadata: ["limit": String(countMax)], retryAfterMs: 50, processed: false)
  }

  static func streams(_ countMax: Int) -> RPCError {
    RPCError(
      .resourceExhausted, "the caller has \(countMax) open streams", reason: "STREAMS_EXHAUSTED",
      errorMetadata: ["limit": String(countMax)], retryAfterMs: 5_000, processed: false)
  }

  /// The process has reached its memory limit. Returned to all callers except the operator's own programs.
  static let memory = RPCError(
    .resourceExhausted, "the gateway has reached its memory limit", reason: "MEMORY_EXHAUSTED", retryAfterMs: 1_000,
    processed: false)

  static func backend(_ refusal: BackendGuard.Refusal, service: String) -> RPCError {
    switch refusal {
    case .full:
      RPCError(
        .resourceExhausted, "too many calls to \(service) are in progress", reason: "BACKEND_OVERLOADED",
        retryAfterMs: 100, processed: false)
    case .bulkWaits:
      RPCError(
        .resourceExhausted, "\(service) is busy; retry bulk calls and streams later", reason: "BULK_SHED",
        retryAfterMs: 1_000, processed: false)
    }
  }
}
