import NIOCore

/// Detects a connection that is too slow to complete a frame, to respond to a ping, or to read what was sent to it.
struct ConnectionTiming {
  enum Verdict: Equatable { case none, ping, abandon, frameTooSlow }

  private let limits: WireLimits
  /// Time limit for a frame, from its first byte to its last.
  var frameTimeoutMs: Int64
  private var lastReceivedAt: NIODeadline
  private var frameStartedAt: NIODeadline?
  private var pingedAt: NIODeadline?
  private var unwritableSince: NIODeadline?

  init(limits: WireLimits, now: NIODeadline) {
    self.limits = limits
    frameTimeoutMs = limits.frameTimeoutMs
    lastReceivedAt = now
  }

  /// Records received bytes; any byte shows that the peer is alive.
  mutating func received(now: NIODeadline) {
    lastReceivedAt = now
    pingedAt = nil
  }

  /// Records the end of a read: whether it ended inside a frame, and whether it completed a frame.
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
    if let frameStartedAt, now - frameStartedAt > .milliseconds(frameTimeoutMs) { return .frameTooSlow }
    if let unwritableSince, now - unwritableSince > unresponsive { return .abandon }
    // While the connection is unwritable, it is not read either, so the peer cannot show that it is alive.
    if unwritableSince != nil { return .none }
    if let pingedAt { return now - pingedAt > unresponsive ? .abandon : .none }
    guard now - lastReceivedAt > .milliseconds(limits.idlePingMs) else { return .none }
    pingedAt = now
    return .ping
  }
}
