package import SwiftProtobuf

extension Contract {
  package struct Service: Sendable {
    /// The full name, such as `campanile.rpc.v1.EchoService`.
    package let name: String
    package let package: String
    package let documentation: Documentation
    package let methods: [Method]

    init(_ service: Google_Protobuf_ServiceDescriptorProto, _ scope: Scope, path: [Int32]) throws {
      let name = scope.prefix + service.name
      self.name = name
      package = scope.package
      documentation = scope.comments[path]
      methods = try service.method.enumerated().map {
        try Method($1, service: name, scope, path: path + [2, Int32($0)])
      }
    }
  }

  package struct Method: Sendable {
    /// The full name of the service.
    package let service: String
    /// The name within the service, such as `Echo`.
    package let name: String
    package let documentation: Documentation
    /// The full names of the messages.
    package let requestType: String
    package let responseType: String
    package let streamsRequests: Bool
    package let streamsResponses: Bool
    package let idempotency: Google_Protobuf_MethodOptions.IdempotencyLevel
    package let isDeprecated: Bool
    package let access: AccessAnnotation
    /// The reasons of errors that the option lists.
    let listedReasons: [String]
    /// The main HTTP rule, then the additional ones.
    package let httpRules: [HTTPAnnotation]

    /// The name of the idempotency level; nil if the method may have an effect each time.
    package var idempotencyName: String? {
      switch idempotency {
      case .idempotencyUnknown: nil
      case .noSideEffects: "NO_SIDE_EFFECTS"
      case .idempotent: "IDEMPOTENT"
      }
    }

    /// The wire name: `campanile.rpc.v1.EchoService/Echo`.
    package var path: String { service + "/" + name }

    init(
      _ method: Google_Protobuf_MethodDescriptorProto, service: String, _ scope: Scope, path: [Int32]
    ) throws {
      self.service = service
      name = method.name
      documentation = scope.comments[path]
      requestType = String(method.inputType.drop { $0 == "." })
      responseType = String(method.outputType.drop { $0 == "." })
      streamsRequests = method.clientStreaming
      streamsResponses = method.serverStreaming
      idempotency = method.options.idempotencyLevel
      isDeprecated = method.options.deprecated
      access = try scope.reading.read({ try AccessAnnotation(method.options) }, otherwise: AccessAnnotation())
      listedReasons = try scope.reading.read({ try AccessAnnotation.reasons(method.options) }, otherwise: [])
      httpRules = try scope.reading.read({ try HTTPAnnotation.all(of: method.options) }, otherwise: [])
    }
  }
}
