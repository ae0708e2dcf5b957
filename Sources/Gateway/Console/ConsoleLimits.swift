/// Limits of the console's sessions, links and audit log.
public struct ConsoleLimits: Sendable, Hashable {
  /// Time after its last use at which a session ends.
  public var idleMs: Int64 = 8 * 3_600_000
  /// Time after its start at which a session ends in any case.
  public var lifetimeMs: Int64 = 24 * 3_600_000
  /// Maximum number of open sessions of a principal; one more ends the one that was used least recently.
  public var sessionsPerPrincipalMax = 32
  /// Maximum number of open sessions; one more is refused with RESOURCE_EXHAUSTED `SESSIONS_EXHAUSTED`.
  public var sessionsMax = 10_000
  public var linkLifetimeMs: Int64 = 60_000
  /// Maximum number of unused links of a principal; one more ends the oldest.
  public var linksPerPrincipalMax = 16
  /// Maximum number of unused links; one more is refused with RESOURCE_EXHAUSTED `LINKS_EXHAUSTED`.
  public var linksMax = 4_096
  /// Time for which failed sign-ins from one address are one event of the audit log.
  public var failureWindowMs: Int64 = 60_000
  public var auditRetentionMs: Int64 = 90 * 86_400_000
  public var auditEventsMax = 100_000

  public init() {}
}
