extension Contract {
  /// The stable reasons of the errors that a method's option lists, and that its comments and constraints name, sorted.
  package func reasons(of method: Method) -> [String] {
    let service = services.first { $0.name == method.service }
    let fields = requestFields(of: method)
    let comments = [method.documentation] + (service.map { [$0.documentation] } ?? []) + fields.map(\.documentation)
    let stated = comments.flatMap(\.reasons).filter { !Self.statuses.contains($0) && !enumWords.contains($0) }
    return fields.reduce(into: Set(stated + method.listedReasons)) { $0.formUnion($1.rules.reasons) }.sorted()
  }

  /// Returns the fields of a request and of the messages inside it, without those that only the server sets. Contains
  /// ignored messages: the service validates what an update changes, and the entries of a batch one by one.
  package func requestFields(of method: Method) -> [Field] {
    var fields: [Field] = []
    var seen: Set<String> = []
    var waiting = [method.requestType]
    while let name = waiting.popLast() {
      guard seen.insert(name).inserted, let message = messages[name] else { continue }
      let serverFields = message.serverFields
      for field in message.fields where !serverFields.contains(field.name) {
        fields.append(field)
        switch field.kind {
        case .message(let type), .map(_, .message(let type)): waiting.append(type)
        default: break
        }
      }
    }
    return fields
  }

  /// Names of enum values with and without their prefix, which comments abbreviate: NO_PUSH is PRIORITY_NO_PUSH.
  static func words(of enums: some Sequence<Enumeration>) -> Set<String> {
    var words: Set<String> = []
    for value in enums.flatMap(\.values) {
      var rest = value.name[...]
      words.insert(value.name)
      while let underscore = rest.firstIndex(of: "_") {
        rest = rest[rest.index(after: underscore)...]
        words.insert(String(rest))
      }
    }
    return words
  }

  /// The names of gRPC's statuses that look like reasons.
  private static let statuses: Set<String> = [
    "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION", "OUT_OF_RANGE", "DATA_LOSS",
  ]
}
