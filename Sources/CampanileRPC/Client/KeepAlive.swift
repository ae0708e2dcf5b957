internal import NIOCore

/// The pings that detect a dead connection which was never closed.
public struct KeepAlivePolicy: Sendable, Hashable {
  /// The server is pinged after it has sent no byte for this long.
  public var intervalMs: Int64 = 20_000
  /// The connection is dead if no byte arrives within this time after a ping.
  public var timeoutMs: Int64 = 10_000
  /// Whether connections without open calls are pinged as well.
  public var pingsWithoutCalls = false

  public init() {}
}

/// One connection's liveness. It has no clock: callers pass the time and act on the verdict.
struct KeepAlive {
  enum Verdict: Equatable {
    /// Check again at this time.
    case wait(until: NIODeadline)
    /// Send a ping, and check again at this time.
    case ping(until: NIODeadline)
    case dead
  }

  let policy: KeepAlivePolicy
  private var lastInbound: NIODeadline
  private var pingedAt: NIODeadline?

  init(_ policy: KeepAlivePolicy, now: NIODeadline) {
    self.policy = policy
    lastInbound = now
  }

  mutating func received(now: NIODeadline) {
    lastInbound = now
    pingedAt = nil
  }

  mutating func check(now: NIODeadline, hasCalls: Bool) -> Verdict {
    if let pingedAt {
      let end = pingedAt + .milliseconds(policy.timeoutMs)
      return now >= end ? .dead : .wait(until: end)
    }
    let due = lastInbound + .milliseconds(policy.intervalMs)
    if now < due { return .wait(until: due) }
    guard hasCalls || policy.pingsWithoutCalls else { return .wait(until: now + .milliseconds(policy.intervalMs)) }
    pingedAt = now
    return .ping(until: now + .milliseconds(policy.timeoutMs))
  }
}
