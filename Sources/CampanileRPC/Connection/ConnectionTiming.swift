import NIOCore

/// Decides when a connection takes too long: over a frame, over an answer to a ping, over reading what was sent to it.
struct ConnectionTiming {
  enum Verdict: Equatable { case none, ping, abandon, frameTooSlow }

  private let limits: WireLimits
  private var lastReceivedAt: NIODeadline
  private var frameStartedAt: NIODeadline?
  private var pingedAt: NIODeadline?
  private var unwritableSince: NIODeadline?

  init(limits: WireLimits, now: NIODeadline) {
    self.limits = limits
    lastReceivedAt = now
  }

  /// Any byte shows that the peer is there.
  mutating func received(now: NIODeadline) {
    lastReceivedAt = now
    pingedAt = nil
  }

  /// Told after each read: whether it ended inside a frame, and whether a frame was completed by it.
  mutating func frameInProgress(_ isInside: Bool, completedFrame: Bool, now: NIODeadline) {
    if !isInside {
      frameStartedAt = nil
    } else if frameStartedAt == nil || completedFrame {
      frameStartedAt = now
    }
  }

  mutating func writable(_ isWritable: Bool, now: NIODeadline) {
    unwritableSince = isWritable ? nil : unwritableSince ?? now
  }

  mutating func check(now: NIODeadline) -> Verdict {
    let unresponsive = TimeAmount.milliseconds(limits.unresponsiveMs)
    if let frameStartedAt, now - frameStartedAt > .milliseconds(limits.frameTimeoutMs) { return .frameTooSlow }
    if let unwritableSince, now - unwritableSince > unresponsive { return .abandon }
    // A peer that is not read from cannot show that it is there.
    if unwritableSince != nil { return .none }
    if let pingedAt { return now - pingedAt > unresponsive ? .abandon : .none }
    guard now - lastReceivedAt > .milliseconds(limits.idlePingMs) else { return .none }
    pingedAt = now
    return .ping
  }
}
