import CampanileRPC
import NIOCore
import NIOPosix

/// What the service main needs of the server on `port`: the RPC server, or what an executable puts in its place.
public protocol DrainableServer: Sendable {
  /// Listens and answers the port.
  func start() async throws -> Int
  /// Takes no new calls, and returns when the open ones are answered or `timeoutMs` have passed.
  func drain(timeoutMs: Int64) async
  /// Closes what is open.
  func shutdown() async
}

struct ListeningRPCServer: DrainableServer {
  let server: RPCServer
  let host: String
  let port: Int

  func start() async throws -> Int {
    do {
      return try await server.start().port ?? port
    } catch let error as IOError {
      throw StartupError("cannot listen on \(host):\(port): \(error.reasonText)")
    } catch let error as NIOConnectionError {
      throw StartupError("cannot listen on \(host):\(port): \(error)")
    }
  }

  func drain(timeoutMs: Int64) async { await server.drain(timeoutMs: timeoutMs) }
  func shutdown() async { await server.shutdown() }
}
