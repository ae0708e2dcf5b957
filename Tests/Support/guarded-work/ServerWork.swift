import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileStore
import Echo
import Foundation
import Gateway
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// Calls to servers in this process. Everything runs on one event loop, so that each call does the same work.
enum ServerWork {
  private static let token = "token-of-the-guard"
  /// Servers that run until the process ends.
  private static let servers = Mutex<[RPCServer]>([])

  /// The number of calls in flight. The loop's periodic work per wake-up is shared by all of them.
  private static let inFlight = 16

  private static var requests: [UInt8] {
    let payload = String(repeating: "x", count: 100)
    return (10..<10 + inFlight).flatMap { id in
      Link.frame(
        #"{"jsonrpc":"2.0","id":\#(id),"method":"campanile.rpc.v1.EchoService/Echo","params":{"payload":"\#(payload)"}}"#
      )
    }
  }

  static func dispatch(_ count: Int) throws -> Int {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    return try call(try waiting { try await echo(on: group) }, count)
  }

  static func forward(_ count: Int) throws -> Int {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    return try withTemporaryFolder { path in
      let behind = try waiting { try await echo(on: group) }
      return try call(try waiting { try await gateway(to: behind, path, on: group) }, count)
    }
  }

  private static func call(_ port: Int, _ count: Int) throws -> Int {
    let link = try Link(port: port, token: token)
    let requests = requests
    var answered = 0
    for _ in 0..<count / inFlight { answered += try link.exchange(requests, answers: inFlight) }
    return answered
  }

  /// Starts an echo server that runs until the process ends, and returns its port.
  private static func echo(on group: any EventLoopGroup) async throws -> Int {
    try await serve(
      TypedDispatcher(MethodRegistry([EchoService()])), InternalTokenAuthenticator(token: token), on: group)
  }

  private static func gateway(to port: Int, _ folder: String, on group: any EventLoopGroup) async throws -> Int {
    let store = try Store(StoreConfiguration(path: "\(folder)/gateway.sqlite"), migrations: Gateway.migrations)
    let backend = BackendConfiguration(
      name: "echo", servicePrefix: "campanile.rpc.v1.EchoService", addresses: [.init(host: "127.0.0.1", port: port)])
    var configuration = GatewayConfiguration(
      backends: [backend], methods: EchoServiceMethods.all, internalToken: token)
    // Under valgrind a loop is always late.
    configuration.limits.loopLateMs = 600_000
    let gateway = try Gateway(configuration, store: store, group: group, logger: logger)
    await gateway.resolveBackends()
    try await gateway.prepare()
    let local = TypedDispatcher(MethodRegistry(gateway.services), observer: gateway.calls)
    return try await serve(
      gateway.dispatcher(local: local, observer: gateway.calls), gateway.helloAuthenticator, on: group)
  }

  private static var logger: Logger {
    var logger = Logger(label: "guard")
    logger.logLevel = .error
    return logger
  }

  private static func serve(
    _ dispatcher: any CallDispatcher, _ authenticator: any HelloAuthenticator, on group: any EventLoopGroup
  ) async throws -> Int {
    let server = RPCServer(
      ServerConfiguration(logger: logger), dispatcher: dispatcher, authenticator: authenticator, group: group)
    let port = try await server.start().port ?? 0
    servers.withLock { $0.append(server) }
    return port
  }
}
