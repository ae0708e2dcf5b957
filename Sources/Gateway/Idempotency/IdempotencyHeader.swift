import CampanileBase
import CampanileRPC

/// The metadata key that identifies a request for safe repetition (draft-ietf-httpapi-idempotency-key-header).
enum IdempotencyHeader {
  static let metadataKey = "idempotency-key"
  static let sizeBytesMax = 128

  /// Returns the idempotency key of a call; `nil` if it has none.
  ///
  /// - Throws: INVALID_ARGUMENT `IDEMPOTENCY_KEY_INVALID` if the key is empty, longer than 128 bytes, not visible
  ///   ASCII, or given more than once.
  static func key(in metadata: Metadata) throws(RPCError) -> String? {
    guard metadata[metadataKey] != nil else { return nil }
    let values = metadata.values(metadataKey)
    guard values.count == 1, let value = values.first, (1...sizeBytesMax).contains(value.utf8.count),
      value.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else {
      var error = RPCError.invalidField(
        metadataKey, "must be one value of 1 to \(sizeBytesMax) visible ASCII characters",
        reason: "IDEMPOTENCY_KEY_INVALID")
      error.processed = false
      throw error
    }
    return value
  }
}

/// Errors of calls with an idempotency key.
enum ReplyFault {
  static let reused = RPCError(
    .failedPrecondition, "the idempotency key was used before for a different request",
    reason: "IDEMPOTENCY_KEY_REUSED", processed: false)
  static let notStored = RPCError(
    .aborted, "the request has already run, but its response was too long to be stored, or there was no room",
    reason: "REPLY_NOT_KEPT",
    processed: false)
  static let secretNotStored = RPCError(
    .aborted, "the request has already run, but its response holds a secret, which is never stored",
    reason: "REPLY_NOT_KEPT", processed: false)
  static let tooManyReplies = RPCError(
    .resourceExhausted, "too many calls with an idempotency key", reason: "REPLIES_EXHAUSTED", retryAfterMs: 60_000,
    processed: false)
  static let tooManyRepeats = RPCError(
    .resourceExhausted, "too many repeats wait for the first call", reason: "REPEATS_EXHAUSTED", retryAfterMs: 1_000,
    processed: false)
  static func firstUnanswered(processed: Bool) -> RPCError {
    RPCError(
      .aborted, "the first call with this idempotency key did not finish in time", reason: "FIRST_CALL_UNANSWERED",
      processed: processed)
  }
  static let storeFailed = RPCError(
    .unavailable, "the stored responses are unavailable", reason: "STORE_UNAVAILABLE", retryAfterMs: 500,
    processed: false)
}
