internal import Foundation

/// How much of its time a thread was ready to run and waited for a processor, and whether it therefore shares one.
///
/// Who shares a processor with the server that he calls takes from it what he uses himself. An open loop that wakes for every
/// single call costs most: so one that shares lets due calls wait for a reply to go with (`slackNs`).
struct ProcessorWatch {
  /// How often it is looked at.
  static let windowMs: Int64 = 500
  /// A thread that waits for more than this share of a window shares its processor, and is taken to do so until the end: a thread of
  /// its own waits for 1 or 2 % of the time, one that shares with a busy server for 10 to 40 %.
  static let sharedShare = 0.1
  /// How long a due call may wait for a reply once the processor is shared. Less than what counts as late.
  static let sharedSlackNs: Int64 = 500_000

  private let waitedNs: () -> Int64?
  private var last: (nowNs: Int64, waitedNs: Int64)?
  private var measured: (ns: Int64, waitedNs: Int64) = (0, 0)
  private var isShared = false

  /// `waitedNs` answers how long the calling thread has waited since it began; `nil` is unknown.
  init(waitedNs: @escaping () -> Int64?) { self.waitedNs = waitedNs }

  /// How long a due call may wait for a reply to go with, while others are in flight.
  var slackNs: Int64 { isShared ? Self.sharedSlackNs : 0 }

  /// Of the windows that were measured, 0 to 1; `nil` where nobody tells, or before the first one's end.
  var waitShare: Double? {
    measured.ns > 0 ? min(1, max(0, Double(measured.waitedNs) / Double(measured.ns))) : nil
  }

  /// Ends a window and begins the next.
  mutating func look(nowNs: Int64, measuredFromNs: Int64) {
    guard let waited = waitedNs() else { return }
    defer { last = (nowNs, waited) }
    guard let last, nowNs > last.nowNs else { return }
    let (length, wait) = (nowNs - last.nowNs, waited - last.waitedNs)
    if Double(wait) > Self.sharedShare * Double(length) { isShared = true }
    guard last.nowNs >= measuredFromNs else { return }
    measured.ns += length
    measured.waitedNs += wait
  }

  /// What Linux tells of the calling thread; `nil` elsewhere, and where its kernel does not count this.
  static func ofThisThread() -> Int64? {
    guard let data = FileManager.default.contents(atPath: "/proc/thread-self/schedstat") else { return nil }
    return waitedNs(in: String(decoding: data, as: UTF8.self))
  }

  /// The second of the three numbers (proc(5): time on a processor, time waiting for one, turns).
  static func waitedNs(in line: String) -> Int64? {
    let numbers = line.split(whereSeparator: \.isWhitespace)
    return numbers.count == 3 ? Int64(numbers[1]) : nil
  }
}
