import NIOCore

/// Detects HTTP connections that take too long. Callers pass in the time.
struct HTTPTiming: Sendable {
  enum Phase: Sendable, Hashable {
    /// Between requests.
    case idle
    /// Part of a request's head has arrived.
    case head
    case body
    /// The response is in progress; only the call's own deadline applies.
    case answering
  }
  enum Verdict: Sendable, Hashable {
    case fine
    /// Respond with 408, then close.
    case tooSlow
    case close
  }

  private(set) var phase = Phase.idle
  /// Time limit for the body of the current request; nil for the configured one.
  private var bodyTimeoutMs: Int64?
  private var since: NIODeadline
  private var unwritableSince: NIODeadline?
  private var waitingBytes = 0

  init(now: NIODeadline) { since = now }

  /// - Parameter bodyTimeoutMs: Timeout of the phase `body`, measured from its start; nil keeps the current one.
  mutating func enter(_ phase: Phase, now: NIODeadline, bodyTimeoutMs: Int64? = nil) {
    if let bodyTimeoutMs { self.bodyTimeoutMs = bodyTimeoutMs }
    guard phase != self.phase else { return }
    self.phase = phase
    since = now
  }

  /// Restarts the timeout of the phase, for a body that is still arriving.
  mutating func progressed(now: NIODeadline) { since = now }

  mutating func writable(_ isWritable: Bool, now: NIODeadline) {
    unwritableSince = isWritable ? nil : now
    waitingBytes = .max
  }

  /// Records how many bytes are queued for a blocked caller. A caller that reads slowly does not time out; one that
  /// reads nothing does.
  mutating func waits(bytes: Int, now: NIODeadline) {
    if unwritableSince != nil, bytes < waitingBytes { unwritableSince = now }
    waitingBytes = bytes
  }

  /// - Parameter configuration: The time limits. It is not kept, because every open connection would have a copy of it.
  func check(_ configuration: HTTPConfiguration, now: NIODeadline) -> Verdict {
    if let unwritableSince, now - unwritableSince > .milliseconds(configuration.unreadTimeoutMs) { return .close }
    let passed = now - since
    switch phase {
    case .idle: return passed > .milliseconds(configuration.idleTimeoutMs) ? .close : .fine
    case .head: return passed > .milliseconds(configuration.headerTimeoutMs) ? .tooSlow : .fine
    case .body: return passed > .milliseconds(bodyTimeoutMs ?? configuration.bodyTimeoutMs) ? .tooSlow : .fine
    case .answering: return .fine
    }
  }
}
