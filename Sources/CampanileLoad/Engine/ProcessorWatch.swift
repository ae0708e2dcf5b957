/// Detects whether a thread shares its processor with others.
///
/// A load test on the server's processor takes time from the server. An open loop that wakes for every call costs most.
/// On a shared processor, due calls therefore wait for the next reply (`ReplySlack`).
struct ProcessorWatch {
  /// Length of a window.
  static let windowNs: Int64 = 500_000_000
  /// Share of a window spent waiting above which the processor is shared.
  ///
  /// A thread that is alone on a processor waits for 1 or 2 % of the time.
  static let sharedWaitShare = 0.1
  /// Share of a window used by others above which the processor is shared.
  ///
  /// A thread that wakes often may not wait at all, because the scheduler preempts the server in its favour.
  static let sharedOthersShare = 0.25

  /// Whether any window so far was above one of the limits.
  private(set) var isShared = false
  private var lookedNs: Int64?
  private var last: (nowNs: Int64, times: ProcessorTimes)?
  private var waited = Share()
  private var others = Share()

  /// A share of the windows for which it is known.
  private struct Share {
    var ns: Int64 = 0
    var ofNs: Int64 = 0
    var value: Double? { ofNs > 0 ? min(1, max(0, Double(ns) / Double(ofNs))) : nil }

    mutating func add(_ other: Share) {
      ns += other.ns
      ofNs += other.ofNs
    }
  }

  /// Share of the measured windows in which the thread was ready but had no processor, 0 to 1; nil if unknown.
  ///
  /// It is unknown before the end of the first window, and on systems without these times.
  var waitShare: Double? { waited.value }
  /// Share of the measured windows in which others used the thread's processor, 0 to 1; nil if unknown.
  ///
  /// Only windows in which the thread stayed on one processor count.
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
    // After a change of the processor, the time on each of them is unknown.
    if times.processor == last.times.processor, let idle = times.idleNs, let before = last.times.idleNs {
      use = Share(ns: lengthNs - (idle - before) - (times.ranNs - last.times.ranNs), ofNs: lengthNs)
    }
    if wait.value ?? 0 > Self.sharedWaitShare || use.value ?? 0 > Self.sharedOthersShare { isShared = true }
    guard last.nowNs >= measuredFromNs else { return }
    waited.add(wait)
    others.add(use)
  }
}
