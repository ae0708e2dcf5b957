import CampanileAPI
import CampanileCodec
import CampanileRPC

/// The REST API as an OpenAPI 3.1 document (spec.openapis.org/oas/v3.1.0), generated from the table that routes
/// requests.
struct OpenAPIDocument: Sendable {
  /// The document as JSON.
  let bytes: [UInt8]

  init(_ table: HTTPTable) {
    var document = JSONTree.object([
      "openapi": .string("3.1.0"),
      "info": .object([
        "title": .string("Campanile"), "version": .string("1"),
        "description": .string(
          "The methods of the suite as REST. Each is also served by the Connect protocol at /SERVICE/METHOD."),
      ]),
      "servers": .array([.object(["url": .string("/")])]),
      "security": .array([.object(["bearer": .array([])])]),
    ])
    var paths: [String: JSONTree] = [:]
    var wanted: [String] = []
    for binding in table.bindings {
      let path = Self.path(binding.template)
      let operation = Operation(binding, table.index)
      var item = paths[path] ?? .object([:])
      item.set(binding.verb.lowercased(), operation.tree)
      paths[path] = item
      wanted += [binding.method.descriptor.requestType, binding.method.descriptor.responseType]
    }
    if table.method(AssetsServiceMethods.downloadAsset.path[...]) != nil {
      paths[AssetContent.path] = AssetContent.pathItem
    }
    document.set("paths", .object(paths))
    document.set(
      "components",
      .object([
        "securitySchemes": .object([
          "bearer": .object(["type": .string("http"), "scheme": .string("bearer")])
        ]),
        "schemas": .object(SchemaTrees(table.index).all(from: wanted)),
        "responses": .object(["Error": Self.errorResponse]),
      ]))
    var writer = JSONWriter()
    document.write(to: &writer)
    bytes = writer.withUnsafeBytes { [UInt8]($0) }
  }

  /// Returns a template in OpenAPI's syntax, such as `/v1/buckets/{bucket_id}:snooze`. Each variable becomes one
  /// segment, because OpenAPI has no longer ones.
  static func path(_ template: PathTemplate) -> String {
    var text = ""
    for (index, segment) in template.segments.enumerated() {
      let variable = template.variables.first { $0.segments.contains(index) }
      if let variable, variable.segments.lowerBound != index { continue }
      text += "/"
      if let variable {
        text += "{\(variable.fieldPath.joined(separator: "."))}"
      } else if case .literal(let word) = segment {
        text += word
      } else {
        text += "*"
      }
    }
    return text + (template.verb.map { ":" + $0 } ?? "")
  }

  private static let errorResponse = JSONTree.object([
    "description": .string("An error (AIP-193)."),
    "content": .object([
      "application/json": .object([
        "schema": .object([
          "type": .string("object"), "required": .array([.string("error")]),
          "properties": .object([
            "error": .object([
              "type": .string("object"),
              "required": .array(["code", "message", "status", "details"].map(JSONTree.string)),
              "properties": .object([
                "code": .object(["type": .string("integer")]), "message": .object(["type": .string("string")]),
                "status": .object(["type": .string("string")]),
                "details": .object(["type": .string("array"), "items": .object(["type": .string("object")])]),
              ]),
            ])
          ]),
        ])
      ])
    ]),
  ])

  /// The operation of one method under one HTTP rule.
  private struct Operation {
    let tree: JSONTree

    init(_ binding: RESTBinding, _ index: SchemaIndex) {
      let descriptor = binding.method.descriptor
      var tree = JSONTree.object([
        "operationId": .string(Self.identifier(binding)),
        "tags": .array([.string(String(descriptor.service.split(separator: ".").last ?? ""))]),
        "responses": .object([
          "200": Self.response(descriptor), "default": .object(["$ref": .string("#/components/responses/Error")]),
        ]),
      ])
      let parameters = Self.parameters(binding, index)
      if !parameters.isEmpty { tree.set("parameters", .array(parameters)) }
      if let schema = Self.bodySchema(binding) {
        tree.set(
          "requestBody", .object(["content": .object(["application/json": .object(["schema": schema])])]))
      }
      self.tree = tree
    }

    /// Returns a unique operation id. Additional rules of a method get a numeric suffix.
    private static func identifier(_ binding: RESTBinding) -> String {
      let descriptor = binding.method.descriptor
      let rules = descriptor.httpRules.map { PathTemplate($0.template).map(OpenAPIDocument.path) ?? "" }
      let number = rules.firstIndex(of: OpenAPIDocument.path(binding.template)) ?? 0
      let name = descriptor.path.replacing("/", with: ".")
      return number == 0 ? name : "\(name).\(number + 1)"
    }

    private static func response(_ descriptor: MethodDescriptor) -> JSONTree {
      let schema = SchemaTrees.reference(descriptor.responseType)
      guard descriptor.kind == .serverStreaming else {
        return .object([
          "description": .string("OK"), "content": .object(["application/json": .object(["schema": schema])]),
        ])
      }
      return .object([
        "description": .string("A stream of messages; Last-Event-ID resumes it."),
        "content": .object([
          EventWriter.contentType: .object(["schema": schema]), RESTPlanner.linesType: .object(["schema": schema]),
        ]),
      ])
    }

    private static func bodySchema(_ binding: RESTBinding) -> JSONTree? {
      switch binding.body {
      case .none: return nil
      case .whole: return SchemaTrees.reference(binding.method.descriptor.requestType)
      case .field(let name): return binding.method.binding.request.field(name).map { SchemaTrees.schema(of: $0) }
      }
    }

    private static func parameters(_ binding: RESTBinding, _ index: SchemaIndex) -> [JSONTree] {
      var parameters: [JSONTree] = []
      for variable in binding.template.variables {
        let field = (try? binding.method.binding.resolve(variable.fieldPath, ""))?.last
        parameters.append(
          .object([
            "name": .string(variable.fieldPath.joined(separator: ".")), "in": .string("path"), "required": .bool(true),
            "schema": field.map { SchemaTrees.schema(of: $0) } ?? .object(["type": .string("string")]),
          ]))
      }
      guard binding.body != .whole else { return parameters }
      let bound = Set(binding.template.variables.compactMap(\.fieldPath.first))
      for field in binding.method.binding.request.fields where !bound.contains(field.name) {
        if case .field(field.name) = binding.body { continue }
        guard SchemaTrees.isSimple(field.kind) else { continue }
        parameters.append(
          .object([
            "name": .string(field.jsonName), "in": .string("query"), "schema": SchemaTrees.schema(of: field),
          ]))
      }
      return parameters
    }
  }
}
