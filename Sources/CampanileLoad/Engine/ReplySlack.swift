/// How long a due call may wait for a reply to go with, when the tester shares its processor with the server.
///
/// The timer that ends the wait is an interrupt in the middle of the server's work, and while replies come it is for nothing. So it is
/// set for longer, twice as long each time, as long as they do; after a gap between them it is short again. What waits because the
/// replies have stopped waits for `maxNs` once.
struct ReplySlack {
  /// Less than what counts as late.
  static let minNs: Int64 = 500_000
  static let maxNs: Int64 = 4_000_000

  /// For the next timer.
  private(set) var ns = minNs
  private var lastNs: Int64?
  private var longestGapNs: Int64 = 0

  /// A reply has come, and what is due was sent.
  @inline(__always)
  mutating func turn(nowNs: Int64) {
    if let lastNs { longestGapNs = max(longestGapNs, nowNs - lastNs) }
    lastNs = nowNs
  }

  /// The timer has fired.
  mutating func fired(nowNs: Int64) {
    turn(nowNs: nowNs)
    ns = longestGapNs < Self.minNs ? min(2 * ns, Self.maxNs) : Self.minNs
    longestGapNs = 0
  }
}
