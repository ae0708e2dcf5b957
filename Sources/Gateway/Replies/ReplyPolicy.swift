/// How long and how many answers to calls with an idempotency key are kept.
public struct ReplyPolicy: Sendable, Hashable {
  public var retentionMs: Int64 = 24 * 3_600_000
  /// Answers kept at once. One more call with a new key: RESOURCE_EXHAUSTED `REPLIES_EXHAUSTED`, not processed.
  public var repliesMax = 100_000
  /// A longer answer is not kept: a repeat is told ABORTED `REPLY_NOT_KEPT`.
  public var replyBytesMax = 256 * 1024
  /// Calls with a key that are under way at once. More: RESOURCE_EXHAUSTED `REPLIES_EXHAUSTED`, not processed.
  public var pendingMax = 10_000
  /// Repeats that wait for one call. More: RESOURCE_EXHAUSTED `REPEATS_EXHAUSTED`, not processed.
  public var waitersMax = 64

  public init() {}
}
