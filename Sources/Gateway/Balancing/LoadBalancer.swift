import CampanileBase
import CampanileRPC

/// Selects an address of a backend by two random choices: of two random candidates, the one with fewer open calls.
///
/// Comparing two candidates instead of all prevents many gateways from overloading the same idle address.
struct LoadBalancer {
  /// The state of an address at the time of the selection.
  struct Candidate: Equatable {
    /// Number of open calls.
    var load: Int
    /// The quality of the candidate. A lower tier is used only if no higher one has a candidate.
    var tier: Tier
  }

  enum Tier: Int, Comparable {
    /// Already tried for this call.
    case excluded
    /// Ejected as an outlier, or reports that it is not serving. Used as a last resort, because it may have recovered.
    case doubtful
    /// Not connected: a call may have to wait.
    case unconnected
    case ready

    static func < (a: Tier, b: Tier) -> Bool { a.rawValue < b.rawValue }
  }

  private var random: SplitMix64

  init(seed: UInt64) { random = SplitMix64(seed: seed) }

  /// Returns the index of the selected candidate; `nil` if all are excluded.
  mutating func choose(_ candidates: [Candidate]) -> Int? {
    guard let best = candidates.lazy.map(\.tier).max(), best > .excluded else { return nil }
    let choices = candidates.indices.filter { candidates[$0].tier == best }
    let first = choices[random.below(choices.count)]
    guard choices.count > 1 else { return first }
    var second = choices[random.below(choices.count - 1)]
    // The last choice replaces a second pick equal to the first, so that both differ and every pair is equally likely.
    if second == first { second = choices[choices.count - 1] }
    return candidates[second].load < candidates[first].load ? second : first
  }
}
