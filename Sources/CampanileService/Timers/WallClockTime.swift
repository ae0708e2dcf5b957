import CampanileBase
public import Foundation

/// Converts times of day into instants in one time zone, across daylight-saving changes.
///
/// A skipped time of day becomes the next instant that exists, which is the change itself. A repeated one has a first
/// and a last instant, and the caller selects one. Offsets are cached per day, so use a value for one calculation on
/// one thread.
public struct WallClockTime {
  /// The instant of a repeated time of day.
  public enum Occurrence {
    case first, last
  }

  public static let dayMs: Int64 = 86_400_000

  private let timeZone: TimeZone
  /// Offsets from UTC in milliseconds at midnight UTC, by day since 1970.
  private var offsets: [Int64: Int64] = [:]

  public init(_ timeZone: TimeZone) { self.timeZone = timeZone }

  /// Returns the local day of an instant, in days since 1970.
  public func day(of instantMs: Int64) -> Int64 { (instantMs + offset(at: instantMs)).floorDivided(by: Self.dayMs) }

  /// Returns the instant at which clocks show `timeMs` after midnight of a local day.
  public mutating func instant(day: Int64, timeMs: Int64, _ occurrence: Occurrence) -> Int64 {
    let localMs = day * Self.dayMs + timeMs
    let localDay = localMs.floorDivided(by: Self.dayMs)
    // Offsets are between -12 and +14 hours, so these two instants are before and after every instant of the local day.
    let before = cachedOffset(day: localDay - 1)
    let after = cachedOffset(day: localDay + 2)
    let early = localMs - before
    if before == after { return early }
    let late = localMs - after
    let isEarlyShown = offset(at: early) == before
    let isLateShown = offset(at: late) == after
    switch (isEarlyShown, isLateShown) {
    case (true, true): return occurrence == .first ? min(early, late) : max(early, late)
    case (true, false): return early
    case (false, true): return late
    // Skipped: clocks went forward between the two.
    case (false, false): return change(from: before, between: min(early, late), and: max(early, late))
    }
  }

  /// Returns the first instant of `(lower, upper]` whose offset differs from `before`.
  private func change(from before: Int64, between lower: Int64, and upper: Int64) -> Int64 {
    var lower = lower
    var upper = upper
    // Bisects an interval of at most a day down to a millisecond: 27 steps.
    while upper - lower > 1 {
      let middle = lower + (upper - lower) / 2
      if offset(at: middle) == before { lower = middle } else { upper = middle }
    }
    return upper
  }

  private mutating func cachedOffset(day: Int64) -> Int64 {
    if let known = offsets[day] { return known }
    let found = offset(at: day * Self.dayMs)
    offsets[day] = found
    return found
  }

  private func offset(at instantMs: Int64) -> Int64 {
    Int64(timeZone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(instantMs) / 1_000))) * 1_000
  }
}
