import CampanileBase
import CampanileRPC

/// Breaks connections, and kills and restarts processes, at times determined by the seed.
///
/// `@unchecked Sendable`: see `SimulatedLoop`.
final class Faults: @unchecked Sendable {
  private let suite: Suite
  private let world: World
  private var chance: SplitMix64
  private var isOver = false

  init(_ suite: Suite) {
    self.suite = suite
    world = suite.world
    chance = world.chance("faults")
    for node in suite.nodes { node.onCrash = { [unowned self] in restart($0) } }
  }

  func begin() {
    suite.network.isFaulty = true
    suite.apns.isFaulty = true
    next()
  }

  /// Stops all faults, and repairs what is broken.
  func end() {
    isOver = true
    suite.network.isFaulty = false
    suite.apns.isFaulty = false
    for link in suite.network.links { link.cut() }
    for node in suite.nodes { node.start() }
  }

  private func restart(_ node: Node) {
    world.after(ms: Int64(5 + chance.below(300))) { node.start() }
  }

  private func next() {
    world.after(ms: Int64(20 + chance.below(250))) { [self] in
      guard !isOver else { return }
      strike()
      next()
    }
  }

  private func strike() {
    let links = suite.network.links
    switch chance.below(8) {
    case 0...2:
      guard !links.isEmpty else { return }
      world.fault("cut connection")
      links[chance.below(links.count)].cut()
    case 3...4:
      guard !links.isEmpty else { return }
      links[chance.below(links.count)].stall(ms: Int64(20 + chance.below(900)))
    case 5:
      // Only connections whose ends detect a dead peer soon, by keep-alive pings.
      let outer = links.filter { $0.to === suite.gateway }
      if !outer.isEmpty { outer[chance.below(outer.count)].die() }
    default:
      let nodes = suite.nodes
      world.fault("killed process")
      nodes[chance.below(nodes.count)].crash()
    }
  }
}
