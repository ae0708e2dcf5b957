/// The buckets of a log-linear histogram: 2^`precisionBits` for each power of two. Pure.
///
/// Values below 2^`precisionBits` have a bucket each. Above, a bucket is at most 1 / 2^`precisionBits` of its values
/// wide. A bound within a bucket divides it, so that the count below each bound is exact.
public struct LogLinearBuckets: Sendable, Hashable {
  /// A bucket without regard to the bounds.
  @usableFromInline struct Whole: Sendable, Hashable {
    /// The index of the bucket, or of its part below the bound.
    @usableFromInline var first: Int
    /// The bound that divides it; `.max` if there is none.
    @usableFromInline var bound: Int64
  }

  /// The bounds at which the counts are exact, in ascending order.
  public let bounds: [Int64]
  @usableFromInline let precisionBits: Int
  @usableFromInline let wholes: [Whole]
  /// The lower bound of each bucket, then the upper bound of the last.
  private let edges: [Int64]

  /// - Parameters:
  ///   - powerMax: Values of 2^`powerMax` and more are counted in the last bucket; at most 63.
  ///   - bounds: Ascending, below 2^`powerMax`. A bucket may contain only one of them.
  public init(precisionBits: Int, powerMax: Int, bounds: [Int64] = []) {
    func lower(_ whole: Int) -> Int64 {
      let shift = max(0, whole >> precisionBits - 1)
      return Int64(whole - shift << precisionBits) << Int64(shift)
    }
    let wholeCount = (powerMax - precisionBits + 1) << precisionBits
    let end = powerMax < 63 ? 1 << Int64(powerMax) : Int64.max
    var wholes: [Whole] = []
    var edges: [Int64] = []
    for whole in 0..<wholeCount {
      let (from, to) = (lower(whole), whole + 1 < wholeCount ? lower(whole + 1) : end)
      let within = bounds.filter { $0 > from && $0 < to }
      precondition(within.count <= 1, "a bucket contains two bounds")
      wholes.append(Whole(first: edges.count, bound: within.first ?? .max))
      edges += [from] + within
    }
    self.bounds = bounds
    self.precisionBits = precisionBits
    self.wholes = wholes
    self.edges = edges + [end]
  }

  public var count: Int { edges.count - 1 }

  /// Returns the bucket of a value. Negative values count as 0.
  @inlinable public func bucket(of value: Int64) -> Int {
    // A bucket without a bound has `.max` in its place, which must be above every value.
    let value = min(max(0, value), .max - 1)
    // These operators omit checks for overflow, which cannot occur here.
    let bits = Int64(truncatingIfNeeded: precisionBits)
    let shift = 63 &- Int64(truncatingIfNeeded: (value | 1 &<< bits).leadingZeroBitCount) &- bits
    let whole = wholes[min(Int(truncatingIfNeeded: shift &<< bits &+ value &>> shift), wholes.count &- 1)]
    return value < whole.bound ? whole.first : whole.first &+ 1
  }

  /// Returns the bounds of a bucket: from `lower` up to, but not including, `upper`.
  public func range(of bucket: Int) -> (lower: Int64, upper: Int64) { (edges[bucket], edges[bucket + 1]) }

  /// Returns the counts below each of `bounds`, then the count of all values.
  ///
  /// - Parameter counts: The number of values in each bucket.
  public func cumulated(_ counts: [Int]) -> [Int] {
    var total = 0
    var counted = 0
    var result = bounds.map { bound in
      while counted < counts.count, edges[counted] < bound {
        total += counts[counted]
        counted += 1
      }
      return total
    }
    result.append(counts[counted...].reduce(total, +))
    return result
  }
}
