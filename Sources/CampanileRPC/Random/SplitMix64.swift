/// A small generator of random numbers that repeats for the same seed (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014). Not for secrets.
package struct SplitMix64: RandomNumberGenerator, Sendable {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= Self.step
    return Self.mixed(state)
  }

  /// What is added from one number to the next, for those who count in a place of their own.
  static let step: UInt64 = 0x9E37_79B9_7F4A_7C15

  /// The number of a count.
  @inline(__always)
  static func mixed(_ count: UInt64) -> UInt64 {
    var mixed = count
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// More than 0 and at most 1.
  package mutating func unit() -> Double { (Double(next() >> 11) + 1) * 0x1p-53 }

  /// 0 up to `bound`, which must be positive.
  package mutating func below(_ bound: Int) -> Int {
    Int(truncatingIfNeeded: next().multipliedFullWidth(by: UInt64(bound)).high)
  }

  /// True once in `count` times.
  package mutating func oneIn(_ count: Int) -> Bool { below(count) == 0 }
}
