internal import CampanileAPI
public import CampanileRPC

/// A client for one command: knows the server's methods by reflection.
public struct ServiceConnection: Sendable {
  public let client: RPCClient
  public let destination: Destination

  /// Speaks TLS where `tls` is given.
  public init(_ destination: Destination, tls: ClientTLS? = nil) throws(RPCError) {
    self.destination = destination
    var configuration = ClientConfiguration(
      host: destination.host, port: destination.port, token: destination.token, tls: tls)
    configuration.agent = "campanile-cli"
    // A person waits: fail soon when nothing listens.
    configuration.waitMsMax = 5_000
    client = try RPCClient(configuration)
  }

  /// Every method that the server offers to this caller.
  ///
  /// - Throws: `RPCError`: UNIMPLEMENTED when the server has no reflection, INTERNAL when its answer cannot be read.
  public func methods(timeoutMs: Int64 = 5_000) async throws -> [KnownMethod] {
    let reply = try await ReflectionServiceClient(client).listServices(
      ListServicesRequest(), options: CallOptions(timeoutMs: timeoutMs, waitForReady: false))
    return reply.services.flatMap { service in
      service.methods.map { method in
        KnownMethod(
          service: service.name, name: method.name, clientStreaming: method.clientStreaming,
          serverStreaming: method.serverStreaming,
          allowsRepeat: ["NO_SIDE_EFFECTS", "IDEMPOTENT"].contains(method.idempotencyLevel))
      }
    }
  }

  /// The declarations of everything that the server offers. Throws as `methods()`.
  public func descriptors(timeoutMs: Int64 = 10_000) async throws -> DescriptorIndex {
    let reply = try await ReflectionServiceClient(client).getFileDescriptorSet(
      GetFileDescriptorSetRequest(), options: CallOptions(timeoutMs: timeoutMs, waitForReady: false))
    do {
      return try DescriptorIndex(serialized: reply.fileDescriptorSet)
    } catch {
      throw RPCError(.internalError, "cannot read the descriptors: \(error)", reason: "REPLY_INVALID")
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
}
