/// Limits of the stored responses to calls with an idempotency key, and of such calls in progress.
public struct ReplyLimits: Sendable, Hashable {
  public var retentionMs: Int64 = 24 * 3_600_000
  /// Responses stored for one principal. Beyond it, the principal's oldest are deleted; their repeats run again.
  public var principalRepliesMax = 1_000
  /// Bytes of the responses stored for one principal. Beyond it, the principal's oldest are deleted.
  public var principalBytesMax = 16 << 20
  /// All stored responses. Beyond it, calls with new keys fail: RESOURCE_EXHAUSTED `REPLIES_EXHAUSTED`, not processed.
  public var repliesMax = 100_000
  /// Bytes of all stored responses. A call without room for its response is recorded without it: a repeat fails with
  /// ABORTED `REPLY_NOT_KEPT`.
  public var totalBytesMax = 1 << 30
  /// Maximum size of a stored response. A repeat of a longer one fails with ABORTED `REPLY_NOT_KEPT`.
  public var replyBytesMax = 256 * 1024
  /// Pending calls with a key, including repeats, and the bytes of their requests; for one principal and for all.
  /// Beyond it: RESOURCE_EXHAUSTED `REPLIES_EXHAUSTED`, not processed.
  public var principalPendingMax = 1_000
  public var principalPendingBytesMax = 64 << 20
  public var pendingMax = 10_000
  public var pendingBytesMax = 256 << 20
  /// Repeats that wait for one call. Beyond it: RESOURCE_EXHAUSTED `REPEATS_EXHAUSTED`, not processed.
  public var waitersMax = 64
  /// The time for which a call waits for another gateway that carries out the same request. Then it fails with ABORTED
  /// `FIRST_CALL_UNANSWERED`.
  public var claimWaitMs: Int64 = 45_000

  public init() {}
}
