/// The maximum time that a due call waits for the next reply, if the load test shares its processor with the server.
///
/// The timer that ends the wait interrupts the server, which is unnecessary while replies arrive. The time therefore
/// doubles while they do, and is reset after a gap between replies. If replies stop, due calls wait for `maxNs` once.
struct ReplySlack {
  /// Minimum time, less than `LoadPlan.lateMs`.
  static let minNs: Int64 = 500_000
  static let maxNs: Int64 = 4_000_000

  /// Time for the next timer.
  private(set) var ns = minNs
  private var lastNs: Int64?
  private var longestGapNs: Int64 = 0

  /// Records a reply.
  @inline(__always)
  mutating func turn(nowNs: Int64) {
    if let lastNs { longestGapNs = max(longestGapNs, nowNs - lastNs) }
    lastNs = nowNs
  }

  /// Records that the timer has fired, and adjusts the time.
  mutating func fired(nowNs: Int64) {
    turn(nowNs: nowNs)
    ns = longestGapNs < Self.minNs ? min(2 * ns, Self.maxNs) : Self.minNs
    longestGapNs = 0
  }
}
