import CampanileBase
import CampanileRPC
import NIOCore

/// The reachable nodes and the connections to them. A connection preserves order, like TCP; different connections are
/// not ordered with each other.
///
/// `@unchecked Sendable`: see `SimulatedLoop`.
final class Network: @unchecked Sendable {
  let world: World
  private var nodes: [String: Node] = [:]
  private(set) var links: [Link] = []
  private var linkCount = 0
  private var chance: SplitMix64
  /// Whether the network causes connection failures.
  var isFaulty = false

  init(_ world: World) {
    self.world = world
    chance = world.chance("network")
  }

  func add(_ node: Node) { nodes[node.address.host] = node }

  func environment(of name: String) -> ClientEnvironment {
    let numbers = world.numbers("client \(name)")
    return ClientEnvironment(
      random: { Double(numbers() >> 11) * 0x1p-53 },
      dial: { address, loop, limit in self.dial(from: name, address, loop, limit) })
  }

  private func dial(
    from name: String, _ address: HostPort, _ loop: any EventLoop, _ limit: TimeAmount
  ) -> EventLoopFuture<any Channel> {
    let promise = loop.makePromise(of: (any Channel).self)
    let delayUs = Int64(100 + chance.below(isFaulty ? 20_000 : 2_000))
    if isFaulty, chance.oneIn(12) {
      world.fault("lost connect")
      loop.scheduleTask(in: limit) { promise.fail(ChannelError.connectTimeout(limit)) }
      return promise.futureResult
    }
    let isDoubled = isFaulty && chance.oneIn(15)
    loop.scheduleTask(in: .microseconds(delayUs)) {
      guard let node = self.nodes[address.host], node.isUp else {
        return promise.fail(ChannelError.connectTimeout(limit))
      }
      self.linkCount += 1
      let link = Link(self.linkCount, from: name, to: node, self)
      self.links.append(link)
      link.open()
      if isDoubled {
        // The peer sees a second connection that no client uses.
        self.world.fault("doubled connection")
        node.accept(SimulatedChannel(self.world.loop, remoteAddress: Link.address, isAutoRead: false))
      }
      promise.succeed(link.client)
    }
    return promise.futureResult
  }

  func remove(_ link: Link) { links.removeAll { $0 === link } }

  /// Cuts all connections of a node at once, as at the end of its process.
  func cut(_ name: String) {
    for link in links where link.from == name || link.to.name == name { link.cut() }
  }
}
