import CampanileBase
internal import NIOCore

/// The pings that detect a dead connection which was never closed.
public struct KeepAlivePolicy: Sendable, Hashable {
  /// The server is pinged after it has sent no byte for this long.
  public var interval = Duration.seconds(20)
  /// The connection is dead if no byte arrives within this time after a ping.
  public var timeout = Duration.seconds(10)
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

  let interval: TimeAmount
  private let timeout: TimeAmount
  private let pingsWithoutCalls: Bool
  private var lastInbound: NIODeadline
  private var pingedAt: NIODeadline?

  init(_ policy: KeepAlivePolicy, now: NIODeadline) {
    interval = .milliseconds(policy.interval.wholeMilliseconds)
    timeout = .milliseconds(policy.timeout.wholeMilliseconds)
    pingsWithoutCalls = policy.pingsWithoutCalls
    lastInbound = now
  }

  mutating func received(now: NIODeadline) {
    lastInbound = now
    pingedAt = nil
  }

  mutating func check(now: NIODeadline, hasCalls: Bool) -> Verdict {
    if let pingedAt {
      let end = pingedAt + timeout
      return now >= end ? .dead : .wait(until: end)
    }
    let due = lastInbound + interval
    if now < due { return .wait(until: due) }
    guard hasCalls || pingsWithoutCalls else { return .wait(until: now + interval) }
    pingedAt = now
    return .ping(until: now + timeout)
  }
}
