/// How much of its processor one thread has to itself, and whether it shares it.
///
/// Who shares a processor with the server that he calls takes from it what he uses himself. An open loop that wakes for every
/// single call costs most: so one that shares lets due calls wait for a reply to go with (`ReplySlack`).
struct ProcessorWatch {
  /// How often it is looked at.
  static let windowNs: Int64 = 500_000_000
  /// Who waits for more than this share of a window shares its processor: a thread of its own waits for 1 or 2 % of the time.
  static let sharedWaitShare = 0.1
  /// So does who is on one that others use for more than this share. Who wakes often need not wait: the scheduler takes the processor
  /// from the server for him.
  static let sharedOthersShare = 0.25

  /// Whether a window was above one of the two, which then holds until the end.
  private(set) var isShared = false
  private var lookedNs: Int64?
  private var last: (nowNs: Int64, times: ProcessorTimes)?
  private var waited = Share()
  private var others = Share()

  /// A part of the measured windows for which it is known.
  private struct Share {
    var ns: Int64 = 0
    var ofNs: Int64 = 0
    var value: Double? { ofNs > 0 ? min(1, max(0, Double(ns) / Double(ofNs))) : nil }

    mutating func add(_ other: Share) {
      ns += other.ns
      ofNs += other.ofNs
    }
  }

  /// Share of the measured windows in which it was ready and had no processor, 0 to 1; `nil` where nobody tells, or before the first
  /// one's end.
  var waitShare: Double? { waited.value }
  /// Share of them in which others had the processor that it was on, of those in which it stayed on one.
  var othersShare: Double? { others.value }

  /// Whether a window has passed.
  func isDue(nowNs: Int64) -> Bool { lookedNs.map { nowNs - $0 >= Self.windowNs } ?? true }

  /// Ends a window and begins the next.
  mutating func look(_ times: ProcessorTimes?, nowNs: Int64, measuredFromNs: Int64) {
    lookedNs = nowNs
    guard let times else { return }
    defer { last = (nowNs, times) }
    guard let last, nowNs > last.nowNs else { return }
    let lengthNs = nowNs - last.nowNs
    let wait = Share(ns: times.waitedNs - last.times.waitedNs, ofNs: lengthNs)
    var use = Share()
    // Of a thread that has changed its processor it is not known how long it was on which.
    if times.processor == last.times.processor, let idle = times.idleNs, let before = last.times.idleNs {
      use = Share(ns: lengthNs - (idle - before) - (times.ranNs - last.times.ranNs), ofNs: lengthNs)
    }
    if wait.value ?? 0 > Self.sharedWaitShare || use.value ?? 0 > Self.sharedOthersShare { isShared = true }
    guard last.nowNs >= measuredFromNs else { return }
    waited.add(wait)
    others.add(use)
  }
}
