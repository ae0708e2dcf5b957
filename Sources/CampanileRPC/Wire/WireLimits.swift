/// The limits that a server puts on its peers. Each has a documented error.
public struct WireLimits: Sendable, Hashable {
  /// The longest frame, in bytes of JSON. A longer one: RESOURCE_EXHAUSTED `FRAME_TOO_LARGE`, then the connection closes.
  public var frameBytesMax = 4 * 1024 * 1024
  /// Handlers that execute at once for one connection. Beyond it: RESOURCE_EXHAUSTED `TOO_MANY_CALLS`, not processed.
  public var executingCallsMax = 100
  /// The same for a link opened with the internal token, since a gateway carries many callers.
  public var executingCallsMaxTrusted = 10_000
  /// Entries of a batch. More: INVALID_ARGUMENT `ENVELOPE_INVALID`.
  public var batchEntriesMax = 100
  /// Cancels and other control frames within `controlWindowMs`. More: RESOURCE_EXHAUSTED `CONTROL_FLOOD`, then the connection closes.
  public var controlFramesMax = 200
  public var controlWindowMs: Int64 = 30_000
  /// Malformed requests in a connection's life. More: RESOURCE_EXHAUSTED `MALFORMED_FLOOD`, then the connection closes.
  public var malformedRequestsMax = 200
  /// How long a frame may take from its first byte to its last. Longer: DEADLINE_EXCEEDED `FRAME_TOO_SLOW`, then the connection closes.
  public var frameTimeoutMs: Int64 = 10_000
  /// After this long without a byte the peer is pinged.
  public var idlePingMs: Int64 = 60_000
  /// How long the answer to a ping, or the reading of what was sent, may take before the connection is closed.
  public var unresponsiveMs: Int64 = 30_000
  /// Bytes of answers that may wait for a connection's peer to read them. A result beyond it: RESOURCE_EXHAUSTED `SLOW_CONSUMER` in
  /// its place. A stream waits; one that is forwarded ends with the same error.
  public var unreadBytesMax = 8 * 1024 * 1024
  /// The same for a link opened with the internal token, since a gateway carries many callers.
  public var unreadBytesMaxTrusted = 64 * 1024 * 1024
  /// Bytes of streamed messages that may wait for the handlers of a connection. The stream that goes beyond it ends:
  /// RESOURCE_EXHAUSTED `STREAM_BACKLOG`, or `BACKEND_SLOW` where it is forwarded.
  public var backlogBytesMax = 64 * 1024 * 1024
  /// The same for a link opened with the internal token, since a gateway carries many callers.
  public var backlogBytesMaxTrusted = 512 * 1024 * 1024
  /// What a unary call gets that asks for no time of its own.
  public var timeoutMsDefault: Int64 = 30_000
  /// The most that a unary call gets; more is clamped.
  public var timeoutMsMax: Int64 = 600_000
  /// Messages that a stream's sender may send before it is granted more.
  public static let streamCredit = 32

  public init() {}
}
