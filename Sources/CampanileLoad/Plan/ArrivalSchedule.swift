import CampanileBase
internal import CampanileRPC
internal import Foundation

/// The sequence of times at which the calls of an open loop are due.
///
/// Arrivals are generated at a rate of 1 and mapped to real time through the integral of the rate. The result is exact
/// for steps and ramps with both spacings (time rescaling of an inhomogeneous Poisson process).
struct ArrivalSchedule: Sendable {
  private struct Segment {
    var startS: Double
    var durationS: Double
    var fromPerSecond: Double
    var toPerSecond: Double
    /// Number of arrivals before this segment.
    var arrivalsBefore: Double

    var arrivals: Double { (fromPerSecond + toPerSecond) / 2 * durationS }

    /// Returns the time of the given arrival of this segment, in seconds from its start.
    func time(of arrivals: Double) -> Double {
      let slope = (toPerSecond - fromPerSecond) / durationS
      guard abs(slope) > 1e-9 else { return arrivals / fromPerSecond }
      // The root of slope/2 t² + from t = arrivals, in a numerically stable form.
      let root = max(0, fromPerSecond * fromPerSecond + 2 * slope * arrivals).squareRoot()
      // Arrival 0 of a ramp that begins at 0 would divide by 0.
      return arrivals > 0 ? 2 * arrivals / (fromPerSecond + root) : 0
    }
  }

  private var segments: [Segment]
  private var index = 0
  private var position: Double
  private let spacing: ArrivalSpacing
  private var random: SplitMix64

  /// Creates the schedule of one of several event loops.
  ///
  /// Each loop sends an equal share of the rate. With uniform spacing, the loops' arrivals are staggered.
  ///
  /// - Parameters:
  ///   - share: The index of the loop.
  ///   - shares: The number of loops.
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

  /// Returns the time of the next arrival in nanoseconds from the start of the run; nil at the end of the schedule.
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
