public import Foundation

/// Turns times of day into instants in one time zone, across daylight-saving changes.
///
/// A time of day that is skipped becomes the next instant that exists, which is the change itself. One that is repeated
/// has a first and a last instant; the caller says which. Offsets are looked up once a day and remembered, so that a
/// value serves one calculation, not several threads.
public struct WallClockTime {
  /// Which instant a repeated time of day means.
  public enum Occurrence {
    case first, last
  }

  public static let dayMs: Int64 = 86_400_000

  private let timeZone: TimeZone
  /// Offsets from UTC in milliseconds at midnight UTC, by day since 1970.
  private var offsets: [Int64: Int64] = [:]

  public init(_ timeZone: TimeZone) { self.timeZone = timeZone }

  /// The local day that an instant falls on, in days since 1970.
  public func day(of instantMs: Int64) -> Int64 { (instantMs + offset(at: instantMs)).floorDivided(by: Self.dayMs) }

  /// The instant at which clocks show `timeMs` after midnight of a local day.
  public mutating func instant(day: Int64, timeMs: Int64, _ occurrence: Occurrence) -> Int64 {
    let localMs = day * Self.dayMs + timeMs
    let localDay = localMs.floorDivided(by: Self.dayMs)
    // Offsets lie between -12 and +14 hours: these two instants are before and after every instant of the local day.
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

  /// The first instant of `(lower, upper]` whose offset is another than `offset`.
  private func change(from before: Int64, between lower: Int64, and upper: Int64) -> Int64 {
    var lower = lower
    var upper = upper
    // Halves an interval of at most a day until it is a millisecond: 27 steps.
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

extension Int64 {
  /// The quotient rounded down, for a positive divisor.
  public func floorDivided(by divisor: Int64) -> Int64 {
    let quotient = self / divisor
    return self % divisor < 0 ? quotient - 1 : quotient
  }
}
