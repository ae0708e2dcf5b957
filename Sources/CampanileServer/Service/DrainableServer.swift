import CampanileRPC
import NIOCore
import NIOPosix

/// The server on `port`: the RPC server, or a replacement from the executable.
package protocol DrainableServer: Sendable {
  /// Starts to listen and returns the port.
  func start() async throws -> Int
  /// Rejects new calls, and waits for the open calls, at most `timeoutMs`.
  ///
  /// - Returns: Whether all connections are closed.
  func drain(timeoutMs: Int64) async -> Bool
  /// Closes the remaining connections.
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

  func drain(timeoutMs: Int64) async -> Bool { await server.drain(timeout: .milliseconds(timeoutMs)) }
  func shutdown() async { await server.shutdown() }
}
