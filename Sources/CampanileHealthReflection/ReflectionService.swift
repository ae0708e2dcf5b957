import CampanileBase
public import CampanileRPC

/// Serves `campanile.rpc.v1.ReflectionService` for the methods of one port.
public struct ReflectionService: ReflectionServiceProtocol {
  private let services: [ServiceDescription]
  private let files: DescriptorFiles

  /// Creates the service.
  ///
  /// - Parameters:
  ///   - methods: Every method on the port, including those of this service.
  ///   - descriptorSet: A serialized `google.protobuf.FileDescriptorSet` with the methods' files and imports.
  public init(methods: [MethodDescriptor], descriptorSet: [UInt8]) {
    var services: [ServiceDescription] = []
    for method in methods {
      if services.last(where: { $0.name == method.service }) == nil {
        let service = ServiceDescription(name: method.service)
        services.append(service)
      }
      if let index = services.firstIndex(where: { $0.name == method.service }) {
        services[index].methods.append(Self.description(method))
      }
    }
    self.services = services.sorted { $0.name < $1.name }
    files = DescriptorFiles(descriptorSet)
  }

  public func listServices(_ request: ListServicesRequest, context: CallContext) async throws -> ListServicesResponse {
    ListServicesResponse(services: services)
  }

  /// Returns the files of a service, or of all services for an empty name.
  ///
  /// - Throws: NOT_FOUND `SERVICE_UNKNOWN` if the port has no such service.
  public func getFileDescriptorSet(
    _ request: GetFileDescriptorSetRequest, context: CallContext
  ) async throws -> GetFileDescriptorSetResponse {
    let names = services.map(\.name)
    guard request.service.isEmpty || names.contains(request.service) else {
      throw RPCError(.notFound, "this server has no service of that name", reason: "SERVICE_UNKNOWN")
    }
    return GetFileDescriptorSetResponse(
      fileDescriptorSet: files.set(of: request.service.isEmpty ? names : [request.service]))
  }

  private static func description(_ method: MethodDescriptor) -> MethodDescription {
    var description = MethodDescription(
      name: method.name, requestType: method.requestType, responseType: method.responseType,
      clientStreaming: method.kind.streamsRequests, serverStreaming: method.kind.streamsResponses)
    description.idempotencyLevel =
      switch method.idempotency {
      case .unknown: "IDEMPOTENCY_UNKNOWN"
      case .noSideEffects: "NO_SIDE_EFFECTS"
      case .idempotent: "IDEMPOTENT"
      }
    return description
  }
}
