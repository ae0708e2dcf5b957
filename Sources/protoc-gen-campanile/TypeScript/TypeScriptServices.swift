import SwiftProtobuf
import SwiftProtobufPluginLibrary

/// Declares and defines the method tables of services: a constant per service with a member per method.
struct TypeScriptServices {
  private let types: TypeScriptTypes

  init(_ types: TypeScriptTypes) { self.types = types }

  /// Appends the declaration of a service's table.
  func declare(_ service: ServiceDescriptor, _ source: inout SourceText) {
    source.line("")
    source.documentation(of: service)
    source.line("export declare const \(TypeScriptTypes.declared(service.name)): {")
    source.indented { source in
      for method in service.methods {
        source.documentation(of: method)
        source.line("readonly \(Self.name(method)): \(type(method));")
      }
    }
    source.line("};")
  }

  /// Appends the definition of a service's table in JavaScript.
  static func define(_ service: ServiceDescriptor, _ source: inout SourceText) {
    source.line("", "export const \(TypeScriptTypes.declared(service.name)) = {")
    source.indented { source in
      for method in service.methods {
        let path = literal("\(service.fullName)/\(method.name)")
        let token = token(method).map { ", token: \(literal($0))" } ?? ""
        source.line("\(name(method)): {")
        source.line("  path: \(path),")
        source.line("  kind: \"\(method.kindName)\", idempotency: \"\(method.idempotencyName)\"\(token),", "},")
      }
    }
    source.line("};")
  }

  private func type(_ method: MethodDescriptor) -> String {
    let arguments = "<\(types.type(method.inputType)), \(types.type(method.outputType))>"
    if Self.token(method) != nil { return types.runtime("ResumableMethod") + arguments }
    return types.runtime(method.kindName.prefix(1).uppercased() + method.kindName.dropFirst() + "Method") + arguments
  }

  /// Returns the JSON name of the resume token, which is a field of both the request and each response. The gateway's
  /// event streams resume by the same field.
  private static func token(_ method: MethodDescriptor) -> String? {
    guard method.serverStreaming, !method.clientStreaming else { return nil }
    let fields = [method.inputType, method.outputType].map { message in
      message.fields.first { $0.name == "resume_token" && $0.type == .string && !$0.isRepeated }
    }
    guard let request = fields[0], fields[1] != nil else { return nil }
    return request.jsonName ?? Names.camelCase(request.name)
  }

  private static func name(_ method: MethodDescriptor) -> String {
    method.name.prefix(1).lowercased() + method.name.dropFirst()
  }
}
