import CampanileBase
public import CampanileRPC
import Logging

/// Serves services on a free port of the loopback interface, and calls `body` with a client of them.
///
/// The client and the server end when `body` returns or throws. Neither logs.
///
/// - Parameters:
///   - services: The services to test, and those that they need.
///   - interceptors: Wrap all calls, the first one outermost.
/// - Returns: The result of `body`.
/// - Throws: The errors of `body`, and of a server that cannot listen.
public func withClient<Result>(
  of services: [any RPCService], interceptors: [any ServerInterceptor] = [],
  _ body: (RPCClient) async throws -> Result
) async throws -> Result {
  let quiet = Logger(label: "campanile.testing") { _ in SwiftLogNoOpLogHandler() }
  let server = RPCServer(ServerConfiguration(logger: quiet), services: services, interceptors: interceptors)
  return try await withClient(of: server, body)
}

/// Starts a server, and calls `body` with a client of it.
///
/// The client and the server end when `body` returns or throws.
///
/// - Returns: The result of `body`.
/// - Throws: The errors of `body`, and of `RPCServer.start()`.
public func withClient<Result>(
  of server: RPCServer, _ body: (RPCClient) async throws -> Result
) async throws -> Result {
  try await server.run { address in
    try await RPCClient.with(ClientConfiguration(addresses: [address]), body)
  }
}
