import CampanileBase
import CampanileRPC
import CampanileStore
import Foundation
import Logging
import NIOCore

/// The running parts of a process.
struct Running {
  var server: RPCServer
  var store: Store?
  /// Releases the resources of the process when it ends.
  var stop: @Sendable () async -> Void = {}
}

/// A process of the suite: listens on an address, can crash at any moment, and restarts with the data on its disk.
///
/// `@unchecked Sendable`: see `SimulatedLoop`.
final class Node: @unchecked Sendable {
  static let token = "internal-token-of-the-simulation"

  let name: String
  let address: HostPort
  let world: World
  let network: Network
  private let build: (Node) async throws -> Running
  private(set) var running: Running?
  private(set) var generation = 0
  private var channels: [SimulatedChannel] = []
  private var isStarting = false
  /// Called after the process has crashed.
  var onCrash: (Node) -> Void = { _ in }

  init(_ name: String, host: String, _ network: Network, build: @escaping (Node) async throws -> Running) {
    self.name = name
    self.network = network
    self.build = build
    world = network.world
    address = HostPort(host: host, port: 7_400)
    network.add(self)
  }

  var isUp: Bool { running != nil }

  // MARK: parts of all processes

  /// The folder of the process's files.
  var folder: String { "\(world.folder)/\(name)" }

  /// Returns a source of random bits, a different one after each start.
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
    configuration.limits.idlePing = .seconds(2)
    configuration.limits.unresponsive = .seconds(1)
    return RPCServer(configuration, dispatcher: dispatcher, authenticator: authenticator, group: world.loop)
  }

  // MARK: life cycle

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
        world.check(false, "\(name) failed to start: \(error)")
      }
      isStarting = false
    }
  }

  /// Ends the process like `kill -9`.
  func crash() {
    guard let former = running else { return }
    running = nil
    world.saw("\(name) is down")
    network.cut(name)
    let orphans = channels
    channels = []
    // Not within a commit, which may be the moment of the crash.
    world.loop.execute {
      former.store?.abandon()
      for channel in orphans { channel.end() }
    }
    world.task { await former.stop() }
    onCrash(self)
  }

  /// Accepts an incoming connection.
  func accept(_ channel: SimulatedChannel) {
    guard let running else { return channel.end() }
    channels.removeAll { !$0.isActive }
    channels.append(channel)
    do {
      try running.server.serve(channel)
      channel.activate(tells: true)
    } catch {
      world.check(false, "\(name) failed to serve a connection: \(error)")
    }
  }

  /// Applies the planted fault: a restart finds the file of the previous start.
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
