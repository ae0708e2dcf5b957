/// When the provider token of a key is renewed. Pure: both clocks are handed in.
///
/// APNs wants a new one no sooner than 20 and no later than 60 minutes after the last ("Establishing a token-based connection to
/// APNs"). The age is measured with a clock that never jumps; only across a restart it is that of the wall clock.
struct ProviderTokenState: Sendable, Hashable {
  struct Limits: Sendable, Hashable {
    /// Between 20 and 50 minutes.
    var renewAfterMs: Int64 = 40 * 60_000
    /// Least time between two tokens.
    var spacingMs: Int64 = 20 * 60_000

    init() {}
  }

  struct Issued: Sendable, Hashable {
    var token: String
    /// The wall clock's, which is in the token.
    var issuedAtMs: Int64
    /// The steady clock's; nil for a token of an earlier process.
    var steadyMs: Int64?
  }

  enum Rejection: Sendable, Hashable {
    /// Another one is there already.
    case useCurrent
    case issue
    /// A new one is allowed only after this pause.
    case wait(ms: Int64)
  }

  private(set) var issued: Issued?
  private let limits: Limits

  init(_ issued: Issued? = nil, limits: Limits = Limits()) {
    self.issued = issued
    self.limits = limits
  }

  /// The token to use; nil when one must be issued first.
  func current(wallMs: Int64, steadyMs: Int64) -> String? {
    guard let issued, let ageMs = ageMs(wallMs: wallMs, steadyMs: steadyMs), ageMs < limits.renewAfterMs else {
      return nil
    }
    return issued.token
  }

  /// In how many milliseconds the token will be renewed; 0 when it must be now.
  func renewsInMs(wallMs: Int64, steadyMs: Int64) -> Int64 {
    guard let ageMs = ageMs(wallMs: wallMs, steadyMs: steadyMs) else { return 0 }
    return max(0, limits.renewAfterMs - ageMs)
  }

  mutating func issue(_ token: String, wallMs: Int64, steadyMs: Int64) {
    issued = Issued(token: token, issuedAtMs: wallMs, steadyMs: steadyMs)
  }

  /// APNs says that a token has expired.
  func rejected(_ token: String, wallMs: Int64, steadyMs: Int64) -> Rejection {
    guard let issued else { return .issue }
    if issued.token != token { return .useCurrent }
    guard let ageMs = ageMs(wallMs: wallMs, steadyMs: steadyMs), ageMs < limits.spacingMs else { return .issue }
    return .wait(ms: limits.spacingMs - ageMs)
  }

  /// Nil when the age cannot be known: the wall clock was set back since another process issued the token, which APNs
  /// would take for one of the future.
  private func ageMs(wallMs: Int64, steadyMs: Int64) -> Int64? {
    guard let issued else { return nil }
    if let since = issued.steadyMs { return max(0, steadyMs - since) }
    return wallMs >= issued.issuedAtMs ? wallMs - issued.issuedAtMs : nil
  }
}
