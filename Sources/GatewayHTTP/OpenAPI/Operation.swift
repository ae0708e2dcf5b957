import CampanileCodec
import CampanileContract
import CampanileRPC
import Gateway

/// The OpenAPI operation of one HTTP rule.
struct Operation {
  let path: SharedPath
  let binding: RESTBinding
  let method: Contract.Method
  let request: Contract.Message
  let text: OperationText

  /// Creates the operation of a binding; nil if the contract does not contain its method.
  init?(_ path: SharedPath, _ binding: RESTBinding, _ contract: Contract) {
    guard let method = contract.method(binding.method.descriptor.path),
      let request = contract.messages[method.requestType]
    else { return nil }
    self.path = path
    self.binding = binding
    self.method = method
    self.request = request
    text = OperationText(method, contract)
  }

  /// Unique, because names of services and of their methods are. Additional rules of a method get a number.
  var identifier: String {
    let templates = binding.method.descriptor.httpRules.map { PathTemplate($0.template) }
    let number = templates.firstIndex(of: binding.template) ?? 0
    let name = "\(method.shortService)_\(method.name)"
    return number == 0 ? name : "\(name)_\(number + 1)"
  }

  func tree(_ schemas: inout SchemaTrees) -> JSONTree {
    var tree = JSONTree.object([
      "operationId": .string(identifier), "tags": .array([.string(method.shortService)]),
      "summary": .string(text.summary), "description": .string(text.description),
      "security": Self.security(of: method), "responses": responses(&schemas),
    ])
    if method.isDeprecated { tree.set("deprecated", .bool(true)) }
    let parameters = pathParameters(&schemas) + queryParameters(&schemas) + headers
    if !parameters.isEmpty { tree.set("parameters", .array(parameters)) }
    if let body = body(&schemas) { tree.set("requestBody", body) }
    return tree
  }

  /// Returns the credentials that a method accepts, as alternatives.
  static func security(of method: Contract.Method) -> JSONTree {
    guard method.access.scope != "public" else { return .array([]) }
    var schemes = ["bearer"]
    if method.takesSessions { schemes.append("attendanceSession") }
    if method.streamsResponses { schemes.append("accessToken") }
    return .array(schemes.map { .object([$0: .array([])]) })
  }

  // MARK: parameters

  private func pathParameters(_ schemas: inout SchemaTrees) -> [JSONTree] {
    zip(path.names, binding.template.variables).map { (name, variable) in
      var parameter = JSONTree.object([
        "name": .string(name), "in": .string("path"), "required": .bool(true),
        "schema": .text(pattern: TextPatterns.segment),
      ])
      guard let (field, message) = resolve(variable.fieldPath, schemas.contract) else { return parameter }
      var schema = schemas.value(of: field, in: message)
      if case .string = field.kind, !field.rules.hasPattern { schema.set("pattern", .string(TextPatterns.segment)) }
      parameter.set("schema", schema)
      // The name of a member such as `id` alone would say nothing.
      let isMember = variable.fieldPath.count > 1 && field.name == "id"
      parameter.set(
        "example",
        isMember
          ? .string(variable.fieldPath.joined(separator: "_").uppercased()) : schemas.contract.example(of: field))
      if !field.documentation.isEmpty { parameter.set("description", .string(field.documentation.text)) }
      return parameter
    }
  }

  private func queryParameters(_ schemas: inout SchemaTrees) -> [JSONTree] {
    guard binding.body != .whole else { return [] }
    return unboundFields.compactMap { field in
      if binding.body == .field(field.name) || !SchemaTrees.isSimple(field.kind) { return nil }
      var schema = schemas.queryValue(of: field, in: request)
      if let number = field.defaultNumber { schema.set("default", SchemaTrees.number(number, field.kind)) }
      var parameter = JSONTree.object([
        "name": .string(field.jsonName), "in": .string("query"), "required": .bool(field.isRequired), "schema": schema,
      ])
      if field.isRequired || !field.rules.examples.isEmpty {
        parameter.set("example", schemas.contract.example(of: field))
      }
      if field.isDeprecated { parameter.set("deprecated", .bool(true)) }
      if !field.documentation.isEmpty { parameter.set("description", .string(field.documentation.text)) }
      return parameter
    }
  }

  private var headers: [JSONTree] {
    var names: [String] = []
    if takesCondition { names.append("IfMatch") }
    // The gateway stores no responses of its own methods. A request id in the query would be a second key.
    let hasOwnKey = binding.body != .whole && request.field("request_id") != nil
    let isOwn = Gateway.ownMethods.contains { $0.path == method.path }
    if isWrite, !hasOwnKey, !isOwn { names.append("IdempotencyKey") }
    return names.map { .object(["$ref": .string("#/components/parameters/\($0)")]) }
  }

  /// Whether `If-Match` can hold: a new object has no etag yet.
  private var takesCondition: Bool {
    binding.method.etag != nil && isWrite && (binding.verb != "POST" || !path.names.isEmpty)
  }

  private var isWrite: Bool { binding.method.descriptor.idempotency != .noSideEffects }

  /// The fields of the request that the path does not contain.
  private var unboundFields: [Contract.Field] {
    let bound = Set(binding.template.variables.compactMap(\.fieldPath.first))
    return request.fields.filter { !bound.contains($0.name) }
  }

  /// Returns the last field of a path, such as `bucket.id`, and its message.
  private func resolve(_ path: [String], _ contract: Contract) -> (Contract.Field, Contract.Message)? {
    var found: (Contract.Field, Contract.Message)?
    var message: Contract.Message? = request
    for name in path {
      guard let inside = message, let field = inside.field(name) else { return nil }
      found = (field, inside)
      message = nil
      if case .message(let type) = field.kind { message = contract.messages[type] }
    }
    return found
  }

  // MARK: body and responses

  private func body(_ schemas: inout SchemaTrees) -> JSONTree? {
    let contract = schemas.contract
    switch binding.body {
    case .none: return nil
    case .field(let name):
      guard let field = request.field(name) else { return nil }
      var schema = schemas.value(of: field, in: request)
      var example = contract.example(of: field)
      // A variable such as `device.id` is a member of the body `device`.
      let paths = binding.template.variables.map(jsonPath)
      let bound = paths.filter { $0.count == 2 && $0[0] == field.jsonName }.map { $0[1] }
      if !bound.isEmpty, case .message(let type) = field.kind, let message = contract.messages[type] {
        schemas.set(identifier + "Body", schemas.schema(of: message, without: Set(bound)))
        schema = SchemaTrees.reference(toComponent: identifier + "Body")
        example = bound.reduce(example) { $0.without([$1]) }
      }
      let content = JSONTree.content(schema, ConnectRequest.unaryType, example: example)
      return .object(["required": .bool(field.isRequired), "content": content])
    case .whole:
      // A variable such as `bucket.id` is a member of the member `bucket`.
      let paths = binding.template.variables.map(jsonPath)
      let example = paths.reduce(contract.example(of: request.name)) { $0.without($1[...]) }
      let schema: JSONTree
      if paths.isEmpty {
        schema = schemas.reference(request.name)
      } else {
        let nested = paths.filter { $0.count == 2 }.reduce(into: [String: Set<String>]()) {
          $0[$1[0], default: []].insert($1[1])
        }
        schemas.set(
          identifier + "Body",
          schemas.schema(of: request, without: Set(paths.filter { $0.count == 1 }.joined()), nested: nested))
        schema = SchemaTrees.reference(toComponent: identifier + "Body")
      }
      let isRequired = unboundFields.contains { $0.isRequired || $0.rules.isIgnored }
      return .object([
        "required": .bool(isRequired), "content": .content(schema, ConnectRequest.unaryType, example: example),
      ])
    }
  }

  private func jsonPath(_ variable: PathTemplate.Variable) -> [String] {
    ((try? binding.method.binding.resolve(variable.fieldPath, "")) ?? []).map(\.jsonName)
  }

  private func responses(_ schemas: inout SchemaTrees) -> JSONTree {
    var members = ["default": ErrorResponses.reference("Error")]
    for (status, name) in ErrorResponses.byStatus where isPossible(status) {
      members["\(status)"] = ErrorResponses.reference(name)
    }
    if method.streamsResponses {
      // OpenAPI 3.1 cannot describe the elements of a stream, and tools disagree on what a schema would describe.
      let type = method.responseType.split(separator: ".").last ?? ""
      _ = schemas.reference(method.responseType)
      var success = JSONTree.described(
        "A stream. The data of each event, or each line, is a `\(type)`. `Last-Event-ID` resumes it.")
      success.set(
        "content", .object([EventWriter.contentType: .object([:]), RESTPlanner.linesType: .object([:])]))
      members["200"] = success
    } else {
      var success = JSONTree.described("The response.")
      success.set("content", .content(schemas.reference(method.responseType), ConnectRequest.unaryType))
      members["200"] = success
    }
    return .object(members)
  }

  private func isPossible(_ status: Int) -> Bool {
    switch status {
    case 403: method.access.scope != "public"
    case 404: !path.names.isEmpty || text.mentions("NOT_FOUND")
    case 409: isWrite
    case 412: takesCondition
    default: true
    }
  }
}

extension Contract.Method {
  /// The service's name without its package.
  var shortService: String { String(service.split(separator: ".").last ?? "") }
}
