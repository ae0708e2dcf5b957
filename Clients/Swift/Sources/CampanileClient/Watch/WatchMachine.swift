import CampanileBase

/// The state of a watch across its connections. No I/O.
struct WatchMachine {
  /// The next step after the end of a connection.
  enum Step: Equatable {
    case connect(afterMs: Int64)
    case fail(RPCError)
  }

  /// The position to resume from; empty for the present.
  private(set) var token: String
  /// A gap that was found, but not reported yet.
  private var gap: RPCError?
  private var failures = 0
  private var openedMs: Int64?
  private let backoff: Backoff

  /// A connection that lasted this long was not a failure.
  static let stableMs: Int64 = 10_000
  static let tokenTooOld = "TOKEN_TOO_OLD"

  init(token: String, backoff: Backoff) {
    self.token = token
    self.backoff = backoff
  }

  /// Records a response. Returns the gap to report before it, if any.
  ///
  /// A gap is reported once the next connection is open: everything that the caller then reads, together with the
  /// changes that follow, is complete.
  mutating func received(token: String, isChange: Bool, nowMs: Int64) -> RPCError? {
    if !token.isEmpty { self.token = token }
    if openedMs == nil { openedMs = nowMs }
    if isChange { failures = 0 }
    defer { gap = nil }
    return gap
  }

  /// Returns the step after the end of a connection.
  ///
  /// - Parameters:
  ///   - error: `nil` if the server ended the stream.
  ///   - isRenewal: Whether the client ended the connection to replace it.
  ///   - random: Between 0 and 1.
  mutating func ended(_ error: RPCError?, isRenewal: Bool, nowMs: Int64, random: Double) -> Step {
    let wasStable = openedMs.map { nowMs - $0 >= Self.stableMs } ?? false
    openedMs = nil
    if isRenewal || wasStable { failures = 0 }
    if isRenewal { return .connect(afterMs: 0) }
    if let error, error.reason == Self.tokenTooOld, !token.isEmpty {
      gap = error
      token = ""
      return .connect(afterMs: 0)
    }
    if let error, !Self.isTransient(error) { return .fail(error) }
    failures += 1
    let delayMs = backoff.delayMs(failures: failures, random: random)
    let requestedMs = error?.retryAfterMs ?? 0
    return .connect(afterMs: max(delayMs, requestedMs + Int64(Double(requestedMs) * backoff.jitter * random)))
  }

  /// Whether the watch may succeed at another time.
  static func isTransient(_ error: RPCError) -> Bool {
    switch error.code {
    case .unavailable, .deadlineExceeded, .resourceExhausted: true
    default: error.retryAfterMs != nil
    }
  }
}
