public import CampanileBase
internal import CampanileContract
internal import CampanileHealthReflection
public import CampanileRPC

/// A command's connection to a server, with the server's methods discovered by reflection.
public struct ServiceConnection: Sendable {
  public let client: RPCClient
  public let destination: Destination

  /// Creates a client for `destination`, with TLS if `tls` is not nil.
  public init(_ destination: Destination, tls: ClientTLS? = nil) throws(RPCError) {
    self.destination = destination
    var configuration = ClientConfiguration(
      host: destination.host, port: destination.port, token: destination.isInternalToken ? nil : destination.token,
      tls: tls)
    if destination.isInternalToken { configuration.internalToken = destination.token }
    configuration.agent = "campanile-cli"
    // A person is waiting: fail soon if nothing listens.
    configuration.waitMax = .seconds(5)
    client = try RPCClient(configuration)
  }

  /// Returns every method that the server offers to this caller.
  ///
  /// - Throws: `RPCError`: UNIMPLEMENTED if the server has no reflection, INTERNAL if its response cannot be decoded.
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

  /// Returns the server's services and messages, without the options that this version cannot read.
  ///
  /// - Parameter service: The full name of the only service to include; empty for all.
  /// - Throws: The errors of `methods()`.
  func contract(of service: String = "", timeoutMs: Int64 = 10_000) async throws -> Contract {
    let reply = try await ReflectionServiceClient(client).getFileDescriptorSet(
      GetFileDescriptorSetRequest(service: service), options: CallOptions(timeoutMs: timeoutMs, waitForReady: false))
    do {
      return try Contract(descriptorSet: reply.fileDescriptorSet, reading: .lenient)
    } catch {
      throw RPCError(.internalError, "cannot read the descriptors: \(error)", reason: "REPLY_INVALID")
    }
  }

  /// Returns the check for requests of a method; nil without access to reflection.
  func requestChecker(for method: KnownMethod) async throws -> RequestChecker? {
    do {
      return RequestChecker(try await contract(of: method.service), method: method)
    } catch let error as RPCError
      where error.code == .unimplemented || error.code == .permissionDenied || error.code == .notFound
    {
      return nil
    }
  }

  /// Resolves a method name or an abbreviation of it.
  ///
  /// Without access to reflection, `text` must be a full path, and the method is assumed to be unary.
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
