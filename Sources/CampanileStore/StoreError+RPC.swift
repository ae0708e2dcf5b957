public import CampanileBase

/// The wire form of store errors. Paths and SQL appear in the log only.
extension StoreError: RPCErrorConvertible {
  public var rpcError: RPCError {
    switch code {
    case .overloaded, .busy:
      RPCError(.resourceExhausted, "the store is overloaded", reason: "STORE_OVERLOADED", retryAfterMs: 200)
    case .diskFull:
      RPCError(.resourceExhausted, "the store has no space left", reason: "STORE_FULL", retryAfterMs: 5000)
    case .requestIDReused:
      RPCError(
        .failedPrecondition, "the request id was used before for a different request", reason: "REQUEST_ID_REUSED",
        errorMetadata: ["field": "request_id"])
    case .corrupt: RPCError(.dataLoss, "the store is damaged; see its log", reason: "STORE_DAMAGED")
    case .unavailable, .closed, .inUse, .interrupted:
      RPCError(.unavailable, "the store is not available", reason: "STORE_UNAVAILABLE", retryAfterMs: 500)
    default: RPCError(.internalError, "the store failed; see its log", reason: "STORE_FAILED")
    }
  }
}
