import NIOCore

/// Tells when an HTTP connection takes too long. It has no clock of its own.
struct HTTPTiming: Sendable {
  enum Phase: Sendable, Hashable {
    /// Between requests.
    case idle
    /// Bytes of a request have come, its head is not complete.
    case head
    case body
    /// The request is being answered: the call's own deadline counts.
    case answering
  }
  enum Verdict: Sendable, Hashable {
    case fine
    /// 408, then closed.
    case tooSlow
    case close
  }

  let configuration: HTTPConfiguration
  private(set) var phase = Phase.idle
  private var since: NIODeadline
  private var unwritableSince: NIODeadline?
  private var waitingBytes = 0

  init(_ configuration: HTTPConfiguration, now: NIODeadline) {
    self.configuration = configuration
    since = now
  }

  mutating func enter(_ phase: Phase, now: NIODeadline) {
    guard phase != self.phase else { return }
    self.phase = phase
    since = now
  }

  /// A body that may take longer is on its way.
  mutating func progressed(now: NIODeadline) { since = now }

  mutating func writable(_ isWritable: Bool, now: NIODeadline) {
    unwritableSince = isWritable ? nil : now
    waitingBytes = .max
  }

  /// How much waits for a caller that takes no more. Who reads slowly reads: only one that reads nothing is too slow.
  mutating func waits(bytes: Int, now: NIODeadline) {
    if unwritableSince != nil, bytes < waitingBytes { unwritableSince = now }
    waitingBytes = bytes
  }

  func check(now: NIODeadline) -> Verdict {
    if let unwritableSince, now - unwritableSince > .milliseconds(configuration.unreadTimeoutMs) { return .close }
    let passed = now - since
    switch phase {
    case .idle: return passed > .milliseconds(configuration.idleTimeoutMs) ? .close : .fine
    case .head: return passed > .milliseconds(configuration.headerTimeoutMs) ? .tooSlow : .fine
    case .body: return passed > .milliseconds(configuration.bodyTimeoutMs) ? .tooSlow : .fine
    case .answering: return .fine
    }
  }
}
