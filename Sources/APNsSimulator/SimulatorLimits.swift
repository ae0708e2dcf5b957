/// Limits of a simulator, and configurable rules in addition to Apple's fixed ones.
public struct SimulatorLimits: Sendable, Hashable {
  /// Tokens and channels that are tracked. Pushes to further ones are validated but not stored.
  public var screensMax = 1_000_000
  /// Newest states of a screen that are retained.
  public var statesPerScreenMax = 20
  /// Bytes of the retained states of all screens, beyond which the oldest are removed.
  public var stateBytesMax = 64 << 20
  /// Changes of screens that a watch can resume from.
  public var screenChangesMax = 10_000
  /// Number of newest pushes that can be listed.
  public var loggedPushesMax = 10_000
  /// Scripted faults at the same time.
  public var faultsMax = 64
  /// Signing keys at the same time.
  public var keysMax = 1_000
  /// Concurrent streams per connection, as announced in its SETTINGS (RFC 9113 section 6.5.2).
  public var concurrentStreamsMax = 1_000
  public var connectionsMax = 1_000
  /// Time after which an idle connection is closed, as by APNs.
  public var idleTimeoutMs: Int64 = 3_600_000
  /// Minimum time between two provider tokens; an earlier one is refused. 0 disables the rule.
  public var tokenRenewalMsMin: Int64 = 20 * 60_000
  /// Scope in which renewals of provider tokens are counted.
  public var tokenRenewalScope = TokenRenewalScope.connection
  /// Maximum lead of a sender's clock over the simulator's.
  public var clockSkewMs: Int64 = 60_000
  /// Updates of an activity with priority 10 that a device displays within an hour; 0 for all.
  public var updatesPerHourMax = 0
  /// Background pushes that a device passes to an app within an hour; 0 for all.
  public var backgroundsPerHourMax = 0
  /// Whether only registered tokens are valid. Otherwise every well-formed token is valid and belongs to the first app
  /// that uses it.
  public var registeredTokensOnly = false
  /// The environment of the endpoint. Keys and tokens registered for another one are refused.
  public var environment = APNsEnvironment.any

  public init() {}
}

/// The scope in which the renewal of provider tokens is limited.
public enum TokenRenewalScope: String, Sendable, Hashable, CaseIterable {
  /// Per connection, so that senders with the same key do not affect one another.
  case connection
  /// Per key across connections, which detects senders that sign a token per worker.
  case key
}

/// The Apple endpoint that a key, token or server belongs to.
public enum APNsEnvironment: String, Sendable, Hashable, CaseIterable {
  case any, sandbox, production

  /// Returns whether an object for `self` can be used at an endpoint for `other`.
  func fits(_ other: APNsEnvironment) -> Bool { self == .any || other == .any || self == other }
}
