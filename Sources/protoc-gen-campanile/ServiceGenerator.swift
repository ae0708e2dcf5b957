import CampanileContract
import SwiftProtobuf
import SwiftProtobufPluginLibrary

/// Generates a service: its method table and client, and the protocol for servers.
struct ServiceGenerator {
  private let service: ServiceDescriptor
  private let names: Names
  private let name: String
  private let access: String
  private let parts: Set<Part>
  private let options: Options

  init(_ service: ServiceDescriptor, options: Options, names: Names) throws {
    self.service = service
    self.names = names
    self.options = options
    access = options.access
    parts = options.parts
    name = names.type(service)
  }

  func generate(_ source: inout SourceText) throws {
    if parts.contains(.clients) {
      source.line("")
      try methodTable(&source)
    }
    if parts.contains(.servers) {
      source.line("")
      serverProtocol(&source)
      source.line("")
      registration(&source)
    }
    if parts.contains(.clients) {
      source.line("")
      client(&source)
    }
  }

  private func methodTable(_ source: inout SourceText) throws {
    source.line("/// The methods of `\(service.fullName)`.")
    try source.block("\(access)enum \(name)Methods") { source in
      source.line("/// The full proto name of the service.")
      constant("serviceName", "String", literal(service.fullName), &source)
      source.line("")
      for method in service.methods {
        source.comment(method)
        source.inlined(options)
        let name = names.function(method)
        source.line(
          options.hasTables
            ? "\(access)static var \(name): MethodDescriptor { MethodDescriptor("
            : "\(access)static let \(name) = MethodDescriptor(")
        let end = options.hasTables ? ") }" : ")"
        try source.indented { source in
          source.line("path: \(literal("\(service.fullName)/\(method.name)")),")
          source.line("kind: .\(method.kindName), idempotency: .\(method.idempotencyName),")
          source.line("requestType: \(literal(method.inputType.fullName)),")
          source.line("responseType: \(literal(method.outputType.fullName)),")
          let (rules, tail) = try method.place(in: service.file, method.fullName) {
            (try HTTPAnnotation.all(of: method.options).map(httpRule), try optionalArguments(method))
          }
          if rules.isEmpty { return source.line("httpRules: []\(tail)\(end)") }
          source.line("httpRules: [")
          for rule in rules { source.line(rule + ",") }
          source.line("]\(tail)\(end)")
        }
      }
      let all = service.methods.map(names.function).joined(separator: ", ")
      source.line("", "/// All methods in the order of the proto.")
      constant("all", "[MethodDescriptor]", "[\(all)]", &source)
    }
  }

  /// Generates a constant, or a property that creates its value: a constant takes space in an app that does not use it.
  private func constant(_ name: String, _ type: String, _ value: String, _ source: inout SourceText) {
    source.inlined(options)
    if options.hasTables { return source.line("\(access)static var \(name): \(type) { \(value) }") }
    source.line("\(access)static let \(name)\(type == "String" ? "" : ": " + type) = \(value)")
  }

  private func httpRule(_ rule: HTTPAnnotation) -> String {
    "  HTTPRule(verb: \(literal(rule.verb)), template: \(literal(rule.template)), body: \(literal(rule.body)))"
  }

  /// Returns the arguments for `campanile.rpc.v1.access` and for `request_id`; empty if the proto has neither.
  private func optionalArguments(_ method: MethodDescriptor) throws -> String {
    let access = try AccessAnnotation(method.options)
    var text = access.scope.isEmpty ? "" : ", scope: \(literal(access.scope))"
    if access.isBulk { text += ", isBulk: true" }
    if access.hasSecretResponse { text += ", hasSecretResponse: true" }
    if method.inputType.fields.contains(where: { $0.name == "request_id" && $0.type == .string && !$0.isRepeated }) {
      text += ", hasRequestID: true"
    }
    return text
  }

  private func types(_ method: MethodDescriptor) -> (request: String, response: String) {
    (names.type(method.inputType), names.type(method.outputType))
  }

  private func serverProtocol(_ source: inout SourceText) {
    source.comment(service)
    source.block("\(access)protocol \(name)Protocol: RPCService") { source in
      for method in service.methods {
        let (request, response) = types(method)
        source.comment(method)
        let first = method.clientStreaming ? "_ requests: RequestStream<\(request)>" : "_ request: \(request)"
        let function = "func \(names.function(method))(\(first), context: CallContext"
        if method.serverStreaming {
          source.line("\(function), responses: ResponseSink<\(response)>) async throws")
        } else {
          source.line("\(function)) async throws -> \(response)")
        }
      }
    }
  }

  private func registration(_ source: inout SourceText) {
    source.block("extension \(name)Protocol") { source in
      source.line("/// Registers every method of the service with its handler.")
      source.block("\(access)func register(in registry: inout MethodRegistry)") { source in
        for method in service.methods {
          let function = names.function(method)
          let (first, last) = (
            method.clientStreaming ? "requests" : "request", method.serverStreaming ? ", responses" : ""
          )
          let head = "registry.\(method.kindName)(\(name)Methods.\(function)) { \(first), context\(last) in"
          let tail = method.serverStreaming ? ", responses: responses" : ""
          source.line(head, "  try await self.\(function)(\(first), context: context\(tail))", "}")
        }
      }
    }
  }

  private func client(_ source: inout SourceText) {
    source.line("/// Calls `\(service.fullName)`.")
    source.block("\(access)struct \(name)Client: Sendable") { source in
      if options.hasTables { source.line("@usableFromInline") }
      source.line("\(options.hasTables ? "" : "private ")let caller: any RPCCaller", "")
      source.line("/// A client that makes its calls through `caller`.")
      source.inlined(options)
      source.line(
        "\(access)init(_ caller: any RPCCaller) { self.caller = caller }")
      for method in service.methods {
        source.line("")
        source.comment(method)
        source.inlined(options)
        clientFunction(method, &source)
      }
    }
  }

  private func clientFunction(_ method: MethodDescriptor, _ source: inout SourceText) {
    let (request, response) = types(method)
    let function = names.function(method)
    let descriptor = "\(name)Methods.\(function)"
    let (effects, result, mark) =
      method.serverStreaming ? ("", "ResponseStream<\(response)>", "") : (" async throws", response, "try await ")
    if method.clientStreaming {
      source.line("\(access)func \(function)(")
      source.line("  options: CallOptions = .init(),")
      source.line("  requests: @escaping @Sendable (RequestSink<\(request)>) async throws -> Void")
      source.block(")\(effects) -> \(result)") { source in
        source.line("\(mark)caller.\(method.kindName)(\(descriptor), options: options, requests: requests)")
      }
    } else {
      let head =
        "\(access)func \(function)(_ request: \(request), options: CallOptions = .init())\(effects) -> \(result)"
      source.block(head) { source in
        source.line("\(mark)caller.\(method.kindName)(\(descriptor), request, options: options)")
      }
    }
  }
}
