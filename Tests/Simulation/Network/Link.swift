import CampanileBase
import CampanileRPC
import NIOCore

/// A connection: its two ends, and the bytes in transit.
///
/// `@unchecked Sendable`: see `SimulatedLoop`.
final class Link: @unchecked Sendable {
  static let address = try? SocketAddress(ipAddress: "10.1.1.1", port: 4_000)

  let index: Int
  let from: String
  let to: Node
  let client: SimulatedChannel
  let server: SimulatedChannel
  private unowned let network: Network
  private let world: World
  private var chance: SplitMix64
  private var tap: WireTap
  /// The time at which the last bytes of each direction arrive: to the client, to the server.
  private var lastArrival = [NIODeadline.uptimeNanoseconds(0), NIODeadline.uptimeNanoseconds(0)]
  /// Nothing arrives before this time.
  private var stalledUntil = NIODeadline.uptimeNanoseconds(0)
  /// Nothing arrives any more, and neither end is informed.
  private var isDead = false
  private var isCut = false

  init(_ index: Int, from: String, to: Node, _ network: Network) {
    (self.index, self.from, self.to, self.network) = (index, from, to, network)
    world = network.world
    chance = world.chance("link \(index)")
    client = SimulatedChannel(world.loop, remoteAddress: Self.address, isAutoRead: true)
    server = SimulatedChannel(world.loop, remoteAddress: Self.address, isAutoRead: false)
    tap = WireTap(world, name: "\(from)-\(to.name) \(index)", toNode: to.name)
  }

  func open() {
    world.saw("link \(index) \(from) to \(to.name)")
    client.activate(tells: false)
    client.onSend = { [weak self] in self?.send($0, toServer: true) }
    client.onClose = { [weak self] in self?.closed(by: \.client) }
    server.onSend = { [weak self] in self?.send($0, toServer: false) }
    server.onClose = { [weak self] in self?.closed(by: \.server) }
    to.accept(server)
  }

  // MARK: faults

  /// Delays everything in transit for a while.
  func stall(ms: Int64) {
    world.fault("stalled connection")
    stalledUntil = world.loop.now + .milliseconds(ms)
  }

  /// Drops everything from now on.
  func die() {
    world.fault("dead connection")
    isDead = true
  }

  /// Closes both ends; bytes in transit are lost.
  func cut() {
    guard !isCut else { return }
    isCut = true
    network.remove(self)
    for end in [client, server] {
      world.loop.scheduleTask(in: .microseconds(Int64(1 + chance.below(3_000)))) { end.end() }
    }
  }

  // MARK: traffic

  private func delay() -> TimeAmount {
    guard network.isFaulty else { return .microseconds(Int64(50 + chance.below(400))) }
    // Usually fast, sometimes slow.
    return .microseconds(Int64(50 + chance.below(chance.oneIn(10) ? 60_000 : 2_000)))
  }

  private func arrival(toServer: Bool) -> NIODeadline {
    let direction = toServer ? 1 : 0
    let at = max(max(world.loop.now, stalledUntil) + delay(), lastArrival[direction])
    lastArrival[direction] = at
    return at
  }

  private func send(_ bytes: ByteBuffer, toServer: Bool) {
    var bytes = tap.pass(bytes, toServer: toServer)
    guard !isDead, !isCut else { return }
    while bytes.readableBytes > 0 {
      // Bytes arrive in pieces of any size.
      let isSplit = network.isFaulty && bytes.readableBytes > 1 && chance.oneIn(4)
      let count = isSplit ? 1 + chance.below(bytes.readableBytes - 1) : bytes.readableBytes
      guard let piece = bytes.readSlice(length: count) else { return }
      world.loop.scheduleTask(deadline: arrival(toServer: toServer)) { self.arrive(piece, toServer: toServer) }
    }
  }

  private func arrive(_ bytes: ByteBuffer, toServer: Bool) {
    guard !isDead, !isCut else { return }
    world.saw("link \(index) \(toServer ? ">" : "<") \(bytes.readableBytes)")
    (toServer ? server : client).receive(bytes)
  }

  private func closed(by end: KeyPath<Link, SimulatedChannel>) {
    guard !isCut else { return }
    let isClient = self[keyPath: end] === client
    world.loop.scheduleTask(deadline: arrival(toServer: isClient)) {
      guard !self.isDead, !self.isCut else { return }
      (isClient ? self.server : self.client).peerClosed()
      self.isCut = true
      self.network.remove(self)
    }
  }
}
