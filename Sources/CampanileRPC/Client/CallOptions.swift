/// What a caller may say about one call.
public struct CallOptions: Sendable, Hashable {
  /// How long the call may take, in milliseconds from now. `nil`: 30 s for a unary call, no limit for a stream.
  public var timeoutMs: Int64?
  /// Sent with the request.
  public var metadata: Metadata
  /// Whether the call waits for a connection until its deadline (at most `ClientConfiguration.waitMsMax` without one).
  /// `false`: it fails with UNAVAILABLE, not processed, as soon as an attempt to connect has failed.
  public var waitForReady: Bool
  /// How often the call may be sent in all, 1 to 10. `nil`: what the client's retry policy says.
  public var attemptsMax: Int?

  public init(
    timeoutMs: Int64? = nil, metadata: Metadata = [:], waitForReady: Bool = true, attemptsMax: Int? = nil
  ) {
    self.timeoutMs = timeoutMs
    self.metadata = metadata
    self.waitForReady = waitForReady
    self.attemptsMax = attemptsMax
  }
}
