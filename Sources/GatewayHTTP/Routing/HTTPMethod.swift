import CampanileBase
import CampanileRPC

/// A method as the HTTP frontend serves it.
final class HTTPMethod: Sendable {
  let descriptor: MethodDescriptor
  /// The wire name as bytes, for the dispatcher.
  let path: [UInt8]
  let binding: FieldBinding
  /// The resume token: a field of both the request and each event of a stream.
  let token: FieldSchema?
  /// Path of the request's etag field, which `If-Match` sets: its own, or that of its resource.
  let etag: [String]?
  /// The request's `request_id` field, which `Idempotency-Key` sets.
  let requestID: FieldSchema?
  /// Path of the response's etag field, outermost member first.
  let responseEtag: [String]?

  init(_ descriptor: MethodDescriptor, index: SchemaIndex) {
    self.descriptor = descriptor
    path = Array(descriptor.path.utf8)
    let request = index.messages[descriptor.requestType] ?? MessageSchema(name: descriptor.requestType)
    let response = index.messages[descriptor.responseType] ?? MessageSchema(name: descriptor.responseType)
    binding = FieldBinding(index: index, request: request)
    token =
      descriptor.kind == .serverStreaming && request.field("resume_token")?.kind == .string
      ? response.field("resume_token").flatMap { $0.kind == .string ? $0 : nil } : nil
    requestID = request.field("request_id").flatMap { $0.kind == .string && !$0.isRepeated ? $0 : nil }
    etag = Self.etag(in: request, index).map { $0.map(\.name) }
    responseEtag = Self.etag(in: response, index).map { $0.map(\.jsonName) }
  }

  /// Returns the path of a top-level etag, or of the etag of the message's only resource.
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

  /// Whether a GET of the Connect protocol may call the method.
  var isReadOnlyUnary: Bool { descriptor.kind == .unary && isReadable }

  /// Whether GET may call the method or open its event stream.
  var isReadable: Bool { !descriptor.kind.streamsRequests && descriptor.idempotency == .noSideEffects }
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

/// All methods that the HTTP frontend serves: by wire name for Connect, by HTTP rule for REST.
struct HTTPTable: Sendable {
  let index: SchemaIndex
  private let methods: MethodTable<HTTPMethod>
  private let tree: RouteTree<RESTBinding>
  /// All bindings, in the order of the descriptors.
  let bindings: [RESTBinding]
  /// HTTP rules of the descriptors that cannot be served: invalid or duplicate templates, and unknown fields.
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
          faults.append("\(method.descriptor.path): \(rule.verb) \(rule.template) is already used by another method")
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

  /// Returns the method with this wire name.
  func method(_ name: Substring) -> HTTPMethod? {
    var copy = String(name)
    return copy.withUTF8 { methods[UnsafeRawBufferPointer($0)] }
  }

  func match(verb: String, segments: [Substring]) throws(RPCError) -> RouteTree<RESTBinding>.Match {
    try tree.match(method: verb, segments: segments)
  }
}
