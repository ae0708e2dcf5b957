import CampanileRPC
import CampanileStore
import Foundation
import Logging
import NIOCore

/// What runs while a process is up.
struct Running {
  var server: RPCServer
  var store: Store?
  /// What the process lets go of when it ends.
  var stop: @Sendable () async -> Void = {}
}

/// One process of the suite: it listens at an address, ends at any moment, and starts again on what its disk has kept.
///
/// `@unchecked Sendable`: see `SimulatedLoop`.
final class Node: @unchecked Sendable {
  static let token = "internal-token-of-the-simulation"

  let name: String
  let address: ClientConfiguration.Address
  let world: World
  let network: Network
  private let build: (Node) async throws -> Running
  private(set) var running: Running?
  private(set) var generation = 0
  private var channels: [SimulatedChannel] = []
  private var isStarting = false
  /// Asked when the process has ended by itself.
  var onCrash: (Node) -> Void = { _ in }

  init(_ name: String, host: String, _ network: Network, build: @escaping (Node) async throws -> Running) {
    self.name = name
    self.network = network
    self.build = build
    world = network.world
    address = ClientConfiguration.Address(host: host, port: 7_400)
    network.add(self)
  }

  var isUp: Bool { running != nil }

  // MARK: what all processes have

  /// Where the process keeps its files.
  var folder: String { "\(world.folder)/\(name)" }

  /// A source of random bits, another one after each start.
  func numbers(_ what: String) -> @Sendable () -> UInt64 { world.numbers("\(name) \(generation) \(what)") }

  var logger: Logger {
    var logger = Logger(label: name) { _ in SwiftLogNoOpLogHandler() }
    logger.logLevel = .critical
    return logger
  }

  func storeConfiguration() -> StoreConfiguration {
    var configuration = StoreConfiguration(path: "\(folder)/store.sqlite")
    configuration.durability = .normal
    configuration.startupCheck = .none
    configuration.readersMax = 2
    configuration.stage = SimulatedDisk(
      world, name: "\(name) \(generation)", isFaulty: { [network, unowned self] in network.isFaulty && isUp },
      crash: { [unowned self] in crash() })
    return configuration
  }

  func server(_ services: [any RPCService]) -> RPCServer {
    server(TypedDispatcher(MethodRegistry(services), logger: logger), InternalTokenAuthenticator(token: Self.token))
  }

  func server(_ dispatcher: any CallDispatcher, _ authenticator: any HelloAuthenticator) -> RPCServer {
    var configuration = ServerConfiguration(logger: logger)
    configuration.limits.idlePingMs = 2_000
    configuration.limits.unresponsiveMs = 1_000
    return RPCServer(configuration, dispatcher: dispatcher, authenticator: authenticator, group: world.loop)
  }

  // MARK: life

  func start() {
    guard !isUp, !isStarting else { return }
    isStarting = true
    generation += 1
    keepOlderFile()
    world.task { [self] in
      do {
        running = try await build(self)
        world.saw("\(name) is up")
      } catch {
        world.check(false, "\(name) does not start: \(error)")
      }
      isStarting = false
    }
  }

  /// Ends the process as `kill -9` does.
  func crash() {
    guard let former = running else { return }
    running = nil
    world.saw("\(name) is down")
    network.cut(name)
    let orphans = channels
    channels = []
    // Not inside of a commit, which may be what the process ends in.
    world.loop.execute {
      former.store?.abandon()
      for channel in orphans { channel.end() }
    }
    world.task { await former.stop() }
    onCrash(self)
  }

  /// A connection has come in.
  func accept(_ channel: SimulatedChannel) {
    guard let running else { return channel.end() }
    channels.removeAll { !$0.isActive }
    channels.append(channel)
    do {
      try running.server.serve(channel)
      channel.activate(tells: true)
    } catch {
      world.check(false, "\(name) does not serve a connection: \(error)")
    }
  }

  /// With the planted fault a restart finds the file as it was at the start before.
  private func keepOlderFile() {
    guard world.plant == .losesCommits else { return }
    let (file, older) = ("\(folder)/store.sqlite", "\(folder)/older.sqlite")
    let files = FileManager.default
    if files.fileExists(atPath: older) {
      for suffix in ["", "-wal", "-shm"] { try? files.removeItem(atPath: file + suffix) }
      try? files.copyItem(atPath: older, toPath: file)
    } else {
      try? files.copyItem(atPath: file, toPath: older)
    }
  }
}
