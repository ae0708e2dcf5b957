public import CampanileRPC
internal import Foundation

/// A client for one command: knows the server's methods by reflection.
public struct ServiceConnection: Sendable {
  public let client: RPCClient
  public let destination: Destination

  static let reflection = "campanile.rpc.v1.ReflectionService/"

  public init(_ destination: Destination) throws(RPCError) {
    self.destination = destination
    var configuration = ClientConfiguration(host: destination.host, port: destination.port, token: destination.token)
    configuration.agent = "campanile-cli"
    // A person waits: fail soon when nothing listens.
    configuration.waitMsMax = 5_000
    client = try RPCClient(configuration)
  }

  /// Every method that the server offers to this caller.
  ///
  /// - Throws: `RPCError`: UNIMPLEMENTED when the server has no reflection, INTERNAL when its answer cannot be read.
  public func methods(timeoutMs: Int64 = 5_000) async throws(RPCError) -> [KnownMethod] {
    struct Reply: Decodable {
      struct Service: Decodable {
        var name: String
        var methods: [Method]?
      }
      struct Method: Decodable {
        var name: String
        var clientStreaming: Bool?
        var serverStreaming: Bool?
        var idempotencyLevel: String?
      }
      var services: [Service]?
    }
    let reply: Reply = try await call("ListServices", timeoutMs)
    return (reply.services ?? []).flatMap { service in
      (service.methods ?? []).map { method in
        KnownMethod(
          service: service.name, name: method.name, clientStreaming: method.clientStreaming ?? false,
          serverStreaming: method.serverStreaming ?? false,
          allowsRepeat: ["NO_SIDE_EFFECTS", "IDEMPOTENT"].contains(method.idempotencyLevel ?? ""))
      }
    }
  }

  /// The declarations of everything that the server offers. Throws as `methods()`.
  public func descriptors(timeoutMs: Int64 = 10_000) async throws(RPCError) -> DescriptorIndex {
    struct Reply: Decodable { var fileDescriptorSet: Data? }
    let reply: Reply = try await call("GetFileDescriptorSet", timeoutMs)
    do {
      return try DescriptorIndex(serialized: Array(reply.fileDescriptorSet ?? Data()))
    } catch {
      throw Self.unreadable("GetFileDescriptorSet", error)
    }
  }

  /// The method that `text` names.
  ///
  /// A server without reflection is asked for the name as it stands, as a unary call: the name must then be complete.
  public func method(_ text: String) async throws -> KnownMethod {
    do {
      return try NameResolver.method(text, among: try await methods())
    } catch let error as RPCError where error.code == .unimplemented || error.code == .permissionDenied {
      let parts = text.split(separator: "/")
      guard parts.count == 2, parts[0].contains(".") else { throw error }
      return KnownMethod(service: String(parts[0]), name: String(parts[1]))
    }
  }

  private func call<R: Decodable>(_ name: String, _ timeoutMs: Int64) async throws(RPCError) -> R {
    let bytes = try await client.rawUnary(
      method: Self.reflection + name, paramsJSON: [], idempotency: .noSideEffects,
      options: CallOptions(timeoutMs: timeoutMs))
    do {
      return try JSONDecoder().decode(R.self, from: Data(bytes))
    } catch {
      throw Self.unreadable(name, error)
    }
  }

  private static func unreadable(_ method: String, _ error: any Error) -> RPCError {
    RPCError(.internalError, "cannot read the answer of \(method): \(error)", reason: "REPLY_INVALID")
  }
}
