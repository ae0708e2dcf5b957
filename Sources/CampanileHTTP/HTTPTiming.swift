package import NIOCore

/// Timeouts of an HTTP connection. Kept once per server, because every open connection would have a copy.
package struct HTTPTimeouts: Sendable, Hashable {
  /// Maximum time from the first byte of a request to the end of its headers.
  package var headTimeoutMs: Int64
  /// Maximum time from the headers of a request to the end of its body.
  package var bodyTimeoutMs: Int64
  /// Maximum time from the end of a request to the end of its response; nil if the server has its own limits.
  package var answerTimeoutMs: Int64?
  /// Maximum time without a request.
  package var idleTimeoutMs: Int64
  /// Maximum time in which a peer reads nothing of what was sent; nil for no limit.
  package var unreadTimeoutMs: Int64?

  package init(
    headTimeoutMs: Int64 = 10_000, bodyTimeoutMs: Int64 = 10_000, answerTimeoutMs: Int64? = nil,
    idleTimeoutMs: Int64 = 60_000, unreadTimeoutMs: Int64? = nil
  ) {
    self.headTimeoutMs = headTimeoutMs
    self.bodyTimeoutMs = bodyTimeoutMs
    self.answerTimeoutMs = answerTimeoutMs
    self.idleTimeoutMs = idleTimeoutMs
    self.unreadTimeoutMs = unreadTimeoutMs
  }
}

/// Detects HTTP connections that take too long. Callers pass in the time.
package struct HTTPTiming: Sendable {
  package enum Phase: Sendable, Hashable {
    /// Between requests.
    case idle
    /// Part of a request's head has arrived.
    case head
    case body
    /// The response is in progress.
    case answering
  }
  package enum Verdict: Sendable, Hashable {
    case fine
    /// Respond with 408, then close.
    case tooSlow
    case close
  }

  package private(set) var phase = Phase.idle
  /// The start of the phase, or its last progress.
  package private(set) var since: NIODeadline
  /// Time limit for bodies; nil for the configured one.
  private var bodyTimeoutMs: Int64?
  private var unwritableSince: NIODeadline?
  private var waitingBytes = 0

  package init(now: NIODeadline) { since = now }

  /// Sets the timeout of this request's and later bodies, measured from the start of the phase.
  package mutating func limitBody(toMs timeoutMs: Int64) { bodyTimeoutMs = timeoutMs }

  package mutating func enter(_ phase: Phase, now: NIODeadline) {
    guard phase != self.phase else { return }
    self.phase = phase
    since = now
  }

  /// Restarts the timeout of the phase, for a body that is still arriving.
  package mutating func progressed(now: NIODeadline) { since = now }

  package mutating func writable(_ isWritable: Bool, now: NIODeadline) {
    unwritableSince = isWritable ? nil : now
    waitingBytes = .max
  }

  /// Records how many bytes are queued for a blocked caller. A caller that reads slowly does not time out; one that
  /// reads nothing does.
  package mutating func waits(bytes: Int, now: NIODeadline) {
    if unwritableSince != nil, bytes < waitingBytes { unwritableSince = now }
    waitingBytes = bytes
  }

  /// Returns the end of the phase's maximum duration.
  package func deadline(_ timeouts: HTTPTimeouts) -> NIODeadline {
    switch phase {
    case .idle: since + .milliseconds(timeouts.idleTimeoutMs)
    case .head: since + .milliseconds(timeouts.headTimeoutMs)
    case .body: since + .milliseconds(bodyTimeoutMs ?? timeouts.bodyTimeoutMs)
    case .answering: timeouts.answerTimeoutMs.map { since + .milliseconds($0) } ?? .distantFuture
    }
  }

  /// The verdict on a phase that has exceeded its maximum duration.
  package var expired: Verdict { phase == .head || phase == .body ? .tooSlow : .close }

  package func check(_ timeouts: HTTPTimeouts, now: NIODeadline) -> Verdict {
    if let unwritableSince, let unreadTimeoutMs = timeouts.unreadTimeoutMs,
      now - unwritableSince > .milliseconds(unreadTimeoutMs)
    {
      return .close
    }
    return now > deadline(timeouts) ? expired : .fine
  }
}
