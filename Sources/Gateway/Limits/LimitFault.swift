import CampanileRPC

/// The refusals of the limits. Each promises that no handler ran, and says when to try again.
enum LimitFault {
  private static let callerReasons: Set<String> = ["RATE_LIMITED", "CALLS_EXHAUSTED", "STREAMS_EXHAUSTED"]

  /// Whether it is the caller itself who asks for more than it may.
  static func isOfCaller(_ error: RPCError) -> Bool {
    error.code == .resourceExhausted && callerReasons.contains(error.reason)
  }

  /// - Parameter limit: `nil` when it was taken back just now.
  static func rate(_ what: String, _ limit: RateLimit?, waitNs: Int64) -> RPCError {
    let perSecond = limit.map { String($0.perSecond) } ?? "so many"
    return RPCError(
      .resourceExhausted, "more than \(perSecond) calls a second \(what)", reason: "RATE_LIMITED",
      errorMetadata: limit.map { ["limit": String($0.perSecond), "burst": String($0.burst)] } ?? [:],
      retryAfterMs: max(1, (waitNs + 999_999) / 1_000_000), processed: false)
  }

  static func calls(_ countMax: Int) -> RPCError {
    RPCError(
      .resourceExhausted, "the caller has \(countMax) calls under way", reason: "CALLS_EXHAUSTED",
      errorMetadata: ["limit": String(countMax)], retryAfterMs: 50, processed: false)
  }

  static func streams(_ countMax: Int) -> RPCError {
    RPCError(
      .resourceExhausted, "the caller has \(countMax) open streams", reason: "STREAMS_EXHAUSTED",
      errorMetadata: ["limit": String(countMax)], retryAfterMs: 5_000, processed: false)
  }

  /// Told of a memory that is used up: to all but the operator's own programs.
  static let memory = RPCError(
    .resourceExhausted, "the gateway has no memory for more", reason: "MEMORY_EXHAUSTED", retryAfterMs: 1_000,
    processed: false)

  static func backend(_ refusal: BackendGuard.Refusal, service: String) -> RPCError {
    switch refusal {
    case .full:
      RPCError(
        .resourceExhausted, "too many calls are under way to \(service)", reason: "BACKEND_OVERLOADED",
        retryAfterMs: 100, processed: false)
    case .bulkWaits:
      RPCError(
        .resourceExhausted, "\(service) is busy: bulk calls and streams have to wait", reason: "BULK_SHED",
        retryAfterMs: 1_000, processed: false)
    }
  }
}
