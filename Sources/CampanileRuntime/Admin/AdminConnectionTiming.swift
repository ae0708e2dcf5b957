import NIOCore

/// Limits for the connections of an operators' HTTP port, so that slow peers cannot lock out others.
struct AdminConnectionLimits: Sendable, Hashable {
  /// Maximum number of open connections. One more closes the connection that has waited longest for its peer.
  var connectionsMax = 256
  /// Maximum time from the first byte of a request to the end of its headers; then 408 and close.
  var headTimeoutMs: Int64 = 10_000
  /// Maximum time from the headers of a request to the end of its body; then 408 and close.
  var bodyTimeoutMs: Int64 = 10_000
  /// Maximum time from the end of a request to the end of its response; then close.
  var answerTimeoutMs: Int64 = 60_000
  /// Maximum time without a request; then close.
  var idleTimeoutMs: Int64 = 60_000
}

/// The phase of an operator's HTTP connection and its deadline. Callers pass the time.
struct AdminConnectionTiming: Sendable {
  enum Phase: Sendable, Hashable {
    case idle, head, body, answering
  }

  let limits: AdminConnectionLimits
  private(set) var phase = Phase.idle
  private(set) var since: NIODeadline
  /// Whether the response ended before the request did.
  private(set) var isAnsweredEarly = false

  init(_ limits: AdminConnectionLimits, now: NIODeadline) {
    self.limits = limits
    since = now
  }

  /// The end of the phase's maximum duration.
  var deadline: NIODeadline {
    switch phase {
    case .idle: since + .milliseconds(limits.idleTimeoutMs)
    case .head: since + .milliseconds(limits.headTimeoutMs)
    case .body: since + .milliseconds(limits.bodyTimeoutMs)
    case .answering: since + .milliseconds(limits.answerTimeoutMs)
    }
  }

  /// Whether a timeout is answered with 408: part of a request has arrived and has no response yet.
  var tellsTimeout: Bool { (phase == .head || phase == .body) && !isAnsweredEarly }

  mutating func bytesArrived(now: NIODeadline) { if phase == .idle { enter(.head, now: now) } }
  mutating func headArrived(now: NIODeadline) { enter(.body, now: now) }
  mutating func requestEnded(now: NIODeadline) { enter(isAnsweredEarly ? .idle : .answering, now: now) }

  mutating func answerEnded(now: NIODeadline) {
    if phase == .body { isAnsweredEarly = true } else { enter(.idle, now: now) }
  }

  private mutating func enter(_ phase: Phase, now: NIODeadline) {
    self.phase = phase
    since = now
    isAnsweredEarly = false
  }
}
