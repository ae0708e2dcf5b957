/// The renewal schedule of one key's provider token. Pure: callers pass both clocks.
///
/// APNs requires a new token no sooner than 20 and no later than 60 minutes after the last one ("Establishing a
/// token-based connection to APNs"). The age is measured with a monotonic clock, and with the wall clock only for a
/// token of an earlier process.
struct ProviderTokenState: Sendable, Hashable {
  struct Limits: Sendable, Hashable {
    /// Between 20 and 50 minutes.
    var renewAfterMs: Int64 = 40 * 60_000
    /// Minimum time between two tokens.
    var spacingMs: Int64 = 20 * 60_000
    /// The time by which the clock of the process that issued a token may be ahead.
    var skewMaxMs: Int64 = 0

    init() {}
  }

  struct Issued: Sendable, Hashable {
    var token: String
    /// Wall-clock time, as contained in the token.
    var issuedAtMs: Int64
    /// Monotonic time; nil for a token of an earlier process.
    var steadyMs: Int64?
  }

  enum Rejection: Sendable, Hashable {
    /// A newer token already exists.
    case useCurrent
    case issue
    /// A new token is allowed only after this pause.
    case wait(ms: Int64)
  }

  private(set) var issued: Issued?
  /// Whether APNs rejected the token as expired; a new one is then issued as soon as the spacing allows.
  private var isRejected = false
  private let limits: Limits

  init(_ issued: Issued? = nil, limits: Limits = Limits()) {
    self.issued = issued
    self.limits = limits
  }

  /// Returns the token to use, or nil if a new one must be issued first.
  func current(wallMs: Int64, steadyMs: Int64) -> String? {
    guard let issued, let ageMs = ageMs(wallMs: wallMs, steadyMs: steadyMs), ageMs < lifetimeMs else { return nil }
    return issued.token
  }

  /// Returns the time until renewal in milliseconds; 0 if it is due.
  func renewsInMs(wallMs: Int64, steadyMs: Int64) -> Int64 {
    guard let ageMs = ageMs(wallMs: wallMs, steadyMs: steadyMs) else { return 0 }
    return max(0, lifetimeMs - ageMs)
  }

  mutating func issue(_ token: String, wallMs: Int64, steadyMs: Int64) {
    issued = Issued(token: token, issuedAtMs: wallMs, steadyMs: steadyMs)
    isRejected = false
  }

  private var lifetimeMs: Int64 { isRejected ? limits.spacingMs : limits.renewAfterMs }

  /// Handles APNs' report that a token has expired.
  mutating func rejected(_ token: String, wallMs: Int64, steadyMs: Int64) -> Rejection {
    guard let issued else { return .issue }
    if issued.token != token { return .useCurrent }
    isRejected = true
    guard let ageMs = ageMs(wallMs: wallMs, steadyMs: steadyMs), ageMs < limits.spacingMs else { return .issue }
    return .wait(ms: limits.spacingMs - ageMs)
  }

  /// Returns the age in milliseconds, or nil if it is unknown.
  ///
  /// It is unknown if the wall clock was set back after an earlier process issued the token. APNs would reject such a
  /// token because it appears to come from the future.
  private func ageMs(wallMs: Int64, steadyMs: Int64) -> Int64? {
    guard let issued else { return nil }
    if let since = issued.steadyMs { return max(0, steadyMs - since) }
    return wallMs >= issued.issuedAtMs - limits.skewMaxMs ? max(0, wallMs - issued.issuedAtMs) : nil
  }
}
