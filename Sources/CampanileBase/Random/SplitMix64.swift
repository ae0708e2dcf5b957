/// A small pseudorandom number generator, reproducible by its seed; not for secrets.
///
/// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
public struct SplitMix64: RandomNumberGenerator, Sendable {
  @usableFromInline var state: UInt64

  @inlinable
  public init(seed: UInt64) { state = seed }

  @inlinable
  public mutating func next() -> UInt64 {
    state &+= Self.step
    return Self.mixed(state)
  }

  /// The increment of the state, for callers that keep the state elsewhere.
  @inlinable public static var step: UInt64 { 0x9E37_79B9_7F4A_7C15 }

  /// Returns the random number of a state.
  @inlinable
  @inline(__always)
  public static func mixed(_ count: UInt64) -> UInt64 {
    var mixed = count
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// Returns a number above 0 and at most 1.
  @inlinable
  public mutating func unit() -> Double { (Double(next() >> 11) + 1) * 0x1p-53 }

  /// Returns a number from 0 to below `bound`, which must be positive.
  @inlinable
  public mutating func below(_ bound: Int) -> Int {
    Int(truncatingIfNeeded: next().multipliedFullWidth(by: UInt64(bound)).high)
  }

  /// Returns true with a probability of 1 in `count`.
  @inlinable
  public mutating func oneIn(_ count: Int) -> Bool { below(count) == 0 }
}
