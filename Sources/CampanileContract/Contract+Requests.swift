package import CampanileCodec

extension Contract {
  /// Returns an example request of a method: the example of its message, with the fields of its REST path.
  package func exampleRequest(of method: Method) -> JSONTree {
    var request = example(of: method.requestType)
    for path in method.httpRules.first?.variables ?? [] {
      request = adding(path[...], of: method.requestType, named: nil, to: request)
    }
    return request
  }

  /// Adds a field of a path to an example that lacks it.
  ///
  /// - Parameter parent: The field that contains the message; nil for the request.
  private func adding(
    _ path: ArraySlice<String>, of message: String, named parent: String?, to tree: JSONTree
  ) -> JSONTree {
    guard let name = path.first, let field = messages[message]?.field(name), case .object(var members) = tree else {
      return tree
    }
    let rest = path.dropFirst()
    if case .message(let type) = field.kind, !rest.isEmpty {
      members[field.jsonName] = adding(rest, of: type, named: name, to: members[field.jsonName] ?? .object([:]))
    } else if members[field.jsonName] == nil {
      let value = example(of: field)
      // The id of a resource gets the resource's name: BUCKET_ID for `bucket.id`.
      members[field.jsonName] =
        parent.map { value == .string("ID") ? .string($0.uppercased() + "_ID") : value } ?? value
    }
    return .object(members)
  }
}

extension HTTPAnnotation {
  /// The fields of the template's variables, each as the names along its path.
  package var variables: [[String]] { parts.compactMap { if case .variable(let path) = $0 { path } else { nil } } }

  enum Part {
    case text(Substring)
    case variable([String])
  }

  /// The template as texts and variables. A variable's pattern is left out.
  var parts: [Part] {
    var parts: [Part] = []
    var rest = template[...]
    while let start = rest.firstIndex(of: "{"), let end = rest[start...].firstIndex(of: "}") {
      parts.append(.text(rest[..<start]))
      let name = rest[start..<end].dropFirst().prefix { $0 != "=" }
      parts.append(.variable(name.split(separator: ".").map(String.init)))
      rest = rest[end...].dropFirst()
    }
    return parts + [.text(rest)]
  }
}
