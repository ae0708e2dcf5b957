internal import NIOCore

/// How a client finds out that a connection is dead though nobody said so.
public struct KeepAlivePolicy: Sendable, Hashable {
  /// The server is pinged when it has sent no byte for this long.
  public var intervalMs: Int64 = 20_000
  /// The connection is dead when a ping is followed by no byte for this long.
  public var timeoutMs: Int64 = 10_000
  /// Whether a connection without open calls is pinged too.
  public var pingsWithoutCalls = false

  public init() {}
}

/// One connection's liveness. It has no clock: it is told the time, and answers what to do.
struct KeepAlive {
  enum Verdict: Equatable {
    /// Ask again then.
    case wait(until: NIODeadline)
    /// Send a ping, and ask again then.
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
