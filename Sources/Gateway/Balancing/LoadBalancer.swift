import CampanileRPC

/// Chooses among the addresses of a backend: of two that chance picks, the one with fewer open calls.
///
/// Looking at two instead of all keeps many gateways from storming the one address that each thinks idle.
struct LoadBalancer {
  /// What is known of an address when a call has to go somewhere.
  struct Candidate: Equatable {
    /// Open calls.
    var load: Int
    /// How good a choice it is: a lower tier is used only when no higher one has an address.
    var tier: Tier
  }

  enum Tier: Int, Comparable {
    /// Tried for this call already.
    case excluded
    /// Answers badly, or says itself that it is not serving. Better than nothing: it may have recovered.
    case doubtful
    /// Not connected; a call to it may have to wait.
    case unconnected
    case ready

    static func < (a: Tier, b: Tier) -> Bool { a.rawValue < b.rawValue }
  }

  private var random: SplitMix64

  init(seed: UInt64) { random = SplitMix64(seed: seed) }

  /// The index of the chosen candidate; `nil` when all are excluded.
  mutating func choose(_ candidates: [Candidate]) -> Int? {
    guard let best = candidates.lazy.map(\.tier).max(), best > .excluded else { return nil }
    let choices = candidates.indices.filter { candidates[$0].tier == best }
    let first = choices[random.below(choices.count)]
    guard choices.count > 1 else { return first }
    var second = choices[random.below(choices.count - 1)]
    // The last choice stands in for the first one's place, so that the two differ and each pair is as likely.
    if second == first { second = choices[choices.count - 1] }
    return candidates[second].load < candidates[first].load ? second : first
  }
}
