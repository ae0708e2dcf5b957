/// A SplitMix64 generator. Each seed and index has its own sequence, so that a single message can be reproduced.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64, index: Int) {
    state = seed &+ UInt64(index) &* 0x9E37_79B9_7F4A_7C15
    _ = next()
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// True once in `n` times.
  mutating func oneIn(_ n: Int) -> Bool { below(n) == 0 }

  mutating func below(_ n: Int) -> Int { Int(next() % UInt64(n)) }

  mutating func pick<T>(_ choices: [T]) -> T { choices[below(choices.count)] }
}
