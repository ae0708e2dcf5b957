import CampanileBase

/// The limits that a server imposes on its peers. Each has a documented error. Times are rounded up to milliseconds.
public struct WireLimits: Sendable, Hashable {
  /// The length that a frame's head can express, with the byte for flags above it: 16 MiB less one.
  public static let frameBytesCeiling = (1 << 24) - 1
  /// The shortest maximum that a client may ask for, so that every error fits.
  public static let clientFrameBytesMin = 64 * 1024
  /// The maximum length of a frame, in bytes of JSON, up to `frameBytesCeiling`. Beyond it: RESOURCE_EXHAUSTED
  /// `FRAME_TOO_LARGE`, then the connection closes.
  public var frameBytesMax = 4 * 1024 * 1024
  /// The maximum number of concurrent handlers per connection. Beyond it: RESOURCE_EXHAUSTED `TOO_MANY_CALLS`, not
  /// processed.
  public var executingCallsMax = 100
  /// The same for a connection opened with the internal token, because a gateway carries many callers.
  public var executingCallsMaxTrusted = 10_000
  /// The maximum number of entries in a batch. Beyond it: INVALID_ARGUMENT `ENVELOPE_INVALID`.
  public var batchEntriesMax = 100
  /// The maximum number of cancels and other control frames within `floodWindow`. Beyond it: RESOURCE_EXHAUSTED
  /// `CONTROL_FLOOD`, then the connection closes.
  public var controlFramesMax = 200
  /// The maximum number of malformed requests within `floodWindow`. Beyond it: RESOURCE_EXHAUSTED `MALFORMED_FLOOD`,
  /// then the connection closes.
  public var malformedRequestsMax = 200
  /// The window of `controlFramesMax` and `malformedRequestsMax`; 30 s by default.
  public var floodWindow: Duration {
    get { .milliseconds(floodWindowMs) }
    set { floodWindowMs = newValue.wholeMilliseconds }
  }
  /// The time limit for a frame, from its first byte to its last. After it: DEADLINE_EXCEEDED `FRAME_TOO_SLOW`, then
  /// the connection closes. 10 s by default.
  public var frameTimeout: Duration {
    get { .milliseconds(frameTimeoutMs) }
    set { frameTimeoutMs = newValue.wholeMilliseconds }
  }
  /// The maximum length of a frame from a peer without a credential. A longer one must present a credential within this
  /// many bytes; otherwise: UNAUTHENTICATED `FRAME_NEEDS_CREDENTIAL`, then the connection closes.
  public var strangerFrameBytesMax = 64 * 1024
  /// The same as `frameTimeout`, before the peer has presented a credential; 5 s by default.
  public var strangerFrameTimeout: Duration {
    get { .milliseconds(strangerFrameTimeoutMs) }
    set { strangerFrameTimeoutMs = newValue.wholeMilliseconds }
  }
  /// The time after which a connection without its own credential is drained, counted from its last call with a
  /// credential; 60 s by default.
  public var strangerIdle: Duration {
    get { .milliseconds(strangerIdleMs) }
    set { strangerIdleMs = newValue.wholeMilliseconds }
  }
  /// The time without received bytes after which the peer is pinged; 60 s by default.
  public var idlePing: Duration {
    get { .milliseconds(idlePingMs) }
    set { idlePingMs = newValue.wholeMilliseconds }
  }
  /// The time that a peer may take to respond to a ping, or to read data sent to it, before the connection is closed;
  /// 30 s by default.
  public var unresponsive: Duration {
    get { .milliseconds(unresponsiveMs) }
    set { unresponsiveMs = newValue.wholeMilliseconds }
  }
  /// The maximum number of response bytes that may wait for a connection's peer to read them. A result beyond it is
  /// replaced by RESOURCE_EXHAUSTED `SLOW_CONSUMER`. A stream waits; a forwarded stream ends with the same error.
  public var unreadBytesMax = 8 * 1024 * 1024
  /// The same for a connection opened with the internal token, because a gateway carries many callers.
  public var unreadBytesMaxTrusted = 64 * 1024 * 1024
  /// The maximum number of bytes in streamed messages that may wait for a connection's handlers, up to one frame more:
  /// the client's credit for the connection. A message beyond it ends its call with RESOURCE_EXHAUSTED
  /// `CREDIT_EXCEEDED`. At least 64 MiB, which clients assume that send no `rpc.hello`.
  public var connectionCreditBytes = ConnectionCredit.initialBytes {
    didSet { connectionCreditBytes = max(connectionCreditBytes, ConnectionCredit.initialBytes) }
  }
  /// The same for a connection opened with the internal token, because a gateway carries many callers.
  public var connectionCreditBytesTrusted = 512 * 1024 * 1024
  /// The credit with which a client may begin to send a stream. At least `StreamCredit.initial`, which clients assume
  /// that send no `rpc.hello`. A message beyond the credit ends its call with RESOURCE_EXHAUSTED `CREDIT_EXCEEDED`.
  public var streamCredit = StreamCredit.initial {
    didSet { streamCredit = streamCredit.raised(to: .initial) }
  }
  /// The timeout of a unary call that sets none; 30 s by default.
  public var timeoutDefault: Duration {
    get { .milliseconds(timeoutMsDefault) }
    set { timeoutMsDefault = newValue.wholeMilliseconds }
  }
  /// The maximum timeout of a call, including streams with a timeout; longer ones are clamped. 10 min by default.
  public var timeoutMax: Duration {
    get { .milliseconds(timeoutMsMax) }
    set { timeoutMsMax = newValue.wholeMilliseconds }
  }

  // The times above in whole milliseconds, because connections read them often.
  package var floodWindowMs: Int64 = 30_000
  package var frameTimeoutMs: Int64 = 10_000
  package var strangerFrameTimeoutMs: Int64 = 5_000
  package var strangerIdleMs: Int64 = 60_000
  package var idlePingMs: Int64 = 60_000
  package var unresponsiveMs: Int64 = 30_000
  package var timeoutMsDefault: Int64 = 30_000
  package var timeoutMsMax: Int64 = 600_000

  public init() {}
}
