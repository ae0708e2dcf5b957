import CampanileBase

/// The options of one call.
public struct CallOptions: Sendable, Hashable {
  /// The time limit of the call from now, rounded up to milliseconds. `nil`: the client's default for a unary call
  /// (30 s), no limit for a stream.
  public var timeout: Duration? {
    get { timeoutMs.map { .milliseconds($0) } }
    set { timeoutMs = newValue?.wholeMilliseconds }
  }
  /// `timeout` in milliseconds, as the wire has it.
  package var timeoutMs: Int64?
  /// Metadata sent with the request.
  public var metadata: Metadata
  /// Whether the call waits for a connection until its deadline (at most `ClientConfiguration.waitMax` without one).
  /// If `false`, it fails with UNAVAILABLE, not processed, as soon as an attempt to connect has failed.
  public var waitForReady: Bool
  /// The maximum number of attempts, including the first, 1 to 10. `nil`: the limit of the client's retry policy.
  public var attemptsMax: Int?

  /// Creates options; the time limit is rounded up to milliseconds.
  public init(
    timeout: Duration? = nil, metadata: Metadata = [:], waitForReady: Bool = true, attemptsMax: Int? = nil
  ) {
    self.init(
      timeoutMs: timeout?.wholeMilliseconds, metadata: metadata, waitForReady: waitForReady, attemptsMax: attemptsMax)
  }

  /// Creates options with a time limit in milliseconds.
  package init(
    timeoutMs: Int64?, metadata: Metadata = [:], waitForReady: Bool = true, attemptsMax: Int? = nil
  ) {
    self.timeoutMs = timeoutMs
    self.metadata = metadata
    self.waitForReady = waitForReady
    self.attemptsMax = attemptsMax
  }
}
