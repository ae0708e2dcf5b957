import CampanileRPC

/// What the HTTP faces know of one method.
final class HTTPMethod: Sendable {
  let descriptor: MethodDescriptor
  /// The wire's name as bytes, for the dispatcher.
  let path: [UInt8]
  let binding: FieldBinding
  /// The field of the request and of each event that says where a stream is, by which it resumes.
  let token: FieldSchema?
  /// The request's etag field, which `If-Match` sets: its own, or that of the resource in it.
  let etag: [String]?
  /// The request's `request_id` field, which `Idempotency-Key` sets.
  let requestID: FieldSchema?
  /// Where a response has its etag: members from the outside in.
  let responseEtag: [String]?

  /// The names of token fields, in the order of preference.
  private static let tokenNames = ["resume_token", "since"]

  init(_ descriptor: MethodDescriptor, index: SchemaIndex) {
    self.descriptor = descriptor
    path = Array(descriptor.path.utf8)
    let request = index.messages[descriptor.requestType] ?? MessageSchema(name: descriptor.requestType)
    let response = index.messages[descriptor.responseType] ?? MessageSchema(name: descriptor.responseType)
    binding = FieldBinding(index: index, request: request)
    token =
      descriptor.kind == .serverStreaming
      ? Self.tokenNames.lazy.compactMap { name in
        response.field(name).flatMap { $0.kind == .string && request.field(name)?.kind == .string ? $0 : nil }
      }.first : nil
    requestID = request.field("request_id").flatMap { $0.kind == .string && !$0.isRepeated ? $0 : nil }
    etag = Self.etag(in: request, index).map { $0.map(\.name) }
    responseEtag = Self.etag(in: response, index).map { $0.map(\.jsonName) }
  }

  /// An etag at the top, or in the one resource that the message has.
  private static func etag(in message: MessageSchema, _ index: SchemaIndex) -> [FieldSchema]? {
    if let own = message.field("etag"), own.kind == .string { return [own] }
    let resources = message.fields.compactMap { field -> [FieldSchema]? in
      guard case .message(let type) = field.kind, !field.isRepeated,
        let etag = index.messages[type]?.field("etag"), etag.kind == .string
      else { return nil }
      return [field, etag]
    }
    return resources.count == 1 ? resources[0] : nil
  }

  /// Whether the method may be called by a GET of the Connect protocol.
  var isReadOnlyUnary: Bool { descriptor.kind == .unary && descriptor.idempotency == .noSideEffects }
}

/// One `google.api.http` rule of a method.
struct RESTBinding: Sendable {
  enum Body: Sendable, Hashable {
    case none
    /// The whole message.
    case whole
    case field(String)
  }
  var method: HTTPMethod
  var body: Body
  var verb: String
  var template: PathTemplate
}

/// Every method that the HTTP faces serve: by the name of the wire for Connect, by rule for REST.
struct HTTPTable: Sendable {
  let index: SchemaIndex
  private let methods: MethodTable<HTTPMethod>
  private let tree: RouteTree<RESTBinding>
  /// In the order of the descriptors.
  let bindings: [RESTBinding]
  /// What the descriptors say and cannot be served: templates that are none or come twice, and fields that do not exist.
  let faults: [String]

  init(methods: [MethodDescriptor], descriptorSet: [UInt8]) {
    let index = SchemaIndex(descriptorSet: descriptorSet)
    self.index = index
    var tree = RouteTree<RESTBinding>()
    var bindings: [RESTBinding] = []
    var faults: [String] = []
    let entries = methods.map { (name: $0.path, value: HTTPMethod($0, index: index)) }
    for (_, method) in entries where !method.descriptor.kind.streamsRequests {
      for rule in method.descriptor.httpRules {
        let body: RESTBinding.Body = rule.body.isEmpty ? .none : rule.body == "*" ? .whole : .field(rule.body)
        guard let template = PathTemplate(rule.template), Self.fieldsExist(template, body, method) else {
          faults.append("\(method.descriptor.path): \(rule.verb) \(rule.template)")
          continue
        }
        let binding = RESTBinding(method: method, body: body, verb: rule.verb, template: template)
        if tree.add(template, method: rule.verb, binding) {
          bindings.append(binding)
        } else {
          faults.append("\(method.descriptor.path): \(rule.verb) \(rule.template) is another method's already")
        }
      }
    }
    self.methods = MethodTable(entries)
    self.tree = tree
    self.bindings = bindings
    self.faults = faults
  }

  private static func fieldsExist(_ template: PathTemplate, _ body: RESTBinding.Body, _ method: HTTPMethod) -> Bool {
    for variable in template.variables {
      guard (try? method.binding.resolve(variable.fieldPath, "")) != nil else { return false }
    }
    if case .field(let name) = body { return method.binding.request.field(name) != nil }
    return true
  }

  /// The method with this name on the wire.
  func method(_ name: Substring) -> HTTPMethod? {
    var copy = String(name)
    return copy.withUTF8 { methods[UnsafeRawBufferPointer($0)] }
  }

  func match(verb: String, segments: [Substring]) throws(RPCError) -> RouteTree<RESTBinding>.Match {
    try tree.match(method: verb, segments: segments)
  }
}
