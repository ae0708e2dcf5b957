/// What a simulator may hold and what it enforces beside Apple's fixed rules.
public struct SimulatorLimits: Sendable, Hashable {
  /// Tokens and channels whose pushes are kept; those of further ones are judged and forgotten.
  public var screensMax = 1_000_000
  /// The newest pushes that can be listed.
  public var loggedPushesMax = 10_000
  /// Scripted faults at once.
  public var faultsMax = 64
  /// Signing keys at once.
  public var keysMax = 1_000
  /// Streams that a connection may have open, as its SETTINGS tell (RFC 9113 section 6.5.2).
  public var concurrentStreamsMax = 1_000
  public var connectionsMax = 1_000
  /// A connection without traffic is closed after this, as APNs does.
  public var idleTimeoutMs: Int64 = 3_600_000
  /// A new provider token sooner than this after the last is refused; 0 switches the rule off.
  public var tokenRenewalMsMin: Int64 = 20 * 60_000
  /// Where the renewals of provider tokens are counted.
  public var tokenRenewalScope = TokenRenewalScope.connection
  /// How far the clock of a sender may be ahead of this one.
  public var clockSkewMs: Int64 = 60_000
  /// Whether only tokens that were registered here are valid. Otherwise each well-formed token is, and belongs to the app
  /// that it is first used for.
  public var registeredTokensOnly = false
  /// The environment of the endpoint. Keys and tokens that are registered for another are refused.
  public var environment = APNsEnvironment.any

  public init() {}
}

/// The scope in which provider tokens may not be renewed too often.
public enum TokenRenewalScope: String, Sendable, Hashable, CaseIterable {
  /// On each connection, so that senders with the same key do not disturb one another.
  case connection
  /// For each key, whatever the connection: finds senders that sign a token for each worker.
  case key
}

/// Which of Apple's endpoints something is for.
public enum APNsEnvironment: String, Sendable, Hashable, CaseIterable {
  case any, sandbox, production

  /// Whether something for `self` can be used at an endpoint for `other`.
  func fits(_ other: APNsEnvironment) -> Bool { self == .any || other == .any || self == other }
}
