internal import CampanileRPC
internal import Foundation

/// The times at which an open loop's calls are due, one after the other.
///
/// Arrivals are made in the time in which the rate is 1 and mapped to real time through the integral of the rate, which gives
/// exact steps and ramps for both spacings (time rescaling of an inhomogeneous Poisson process).
struct ArrivalSchedule: Sendable {
  private struct Segment {
    var startS: Double
    var durationS: Double
    var fromPerSecond: Double
    var toPerSecond: Double
    /// Arrivals before it.
    var arrivalsBefore: Double

    var arrivals: Double { (fromPerSecond + toPerSecond) / 2 * durationS }

    /// When the `arrivals`th arrival of this segment comes, in seconds from its start.
    func time(of arrivals: Double) -> Double {
      let slope = (toPerSecond - fromPerSecond) / durationS
      guard abs(slope) > 1e-9 else { return arrivals / fromPerSecond }
      // The root of slope/2 t² + from t = arrivals, in the form that keeps its digits.
      let root = max(0, fromPerSecond * fromPerSecond + 2 * slope * arrivals).squareRoot()
      // The first arrival of a ramp that begins at 0.
      return arrivals > 0 ? 2 * arrivals / (fromPerSecond + root) : 0
    }
  }

  private var segments: [Segment]
  private var index = 0
  private var position: Double
  private let spacing: ArrivalSpacing
  private var random: SplitMix64

  /// The part of the schedule that one of `shares` loops sends: each sends its share of the rate, loop `share` of them a
  /// little after the one before it.
  init(rate: ArrivalRate, spacing: ArrivalSpacing, durationMs: Int64, share: Int, of shares: Int, seed: UInt64) {
    let durationS = Double(durationMs) / 1000
    let rates: [(Double, Double)] =
      switch rate {
      case .constant(let rate): [(rate, rate)]
      case .steps(let rates): rates.map { ($0, $0) }
      case .ramp(let from, let to): [(from, to)]
      }
    segments = []
    var startS = 0.0
    var arrivals = 0.0
    for (from, to) in rates {
      let segment = Segment(
        startS: startS, durationS: durationS / Double(rates.count), fromPerSecond: from / Double(shares),
        toPerSecond: to / Double(shares), arrivalsBefore: arrivals)
      segments.append(segment)
      startS += segment.durationS
      arrivals += segment.arrivals
    }
    self.spacing = spacing
    random = SplitMix64(seed: seed &+ UInt64(share) &* 0x9E37_79B9)
    position = spacing == .uniform ? Double(share) / Double(shares) - 1 : 0
  }

  /// Nanoseconds from the start of the run to the next arrival; `nil` when the schedule is over.
  mutating func next() -> Int64? {
    switch spacing {
    case .uniform: position += 1
    case .poisson: position -= log(random.unit())
    }
    while index < segments.count {
      let segment = segments[index]
      let inside = position - segment.arrivalsBefore
      if inside < segment.arrivals {
        return Int64((segment.startS + segment.time(of: max(0, inside))) * 1e9)
      }
      index += 1
    }
    return nil
  }
}
