/// The bindings of one path. Templates that differ only in the names of their variables share one, because they match
/// the same requests.
struct SharedPath {
  /// The path in OpenAPI's syntax, such as `/notifications/v1/buckets/{bucketId}:snooze`. Each variable becomes one
  /// segment, because OpenAPI has no longer ones.
  let path: String
  /// The names of the variables, in their order.
  let names: [String]
  let bindings: [RESTBinding]

  /// Groups bindings by path, in the order of their first occurrence.
  static func all(_ bindings: [RESTBinding]) -> [SharedPath] {
    var groups: [[String?]: [RESTBinding]] = [:]
    var order: [[String?]] = []
    for binding in bindings {
      let shape = pieces(binding.template) + [binding.template.verb ?? ""]
      if groups[shape] == nil { order.append(shape) }
      groups[shape, default: []].append(binding)
    }
    return order.map { SharedPath(groups[$0] ?? []) }
  }

  /// - Parameter bindings: At least one; all have the same shape.
  private init(_ bindings: [RESTBinding]) {
    self.bindings = bindings
    let count = bindings.first?.template.variables.count ?? 0
    names = (0..<count).map { Self.name(of: $0, in: bindings) }
    var rest = names[...]
    let segments = bindings.first.map { Self.pieces($0.template) } ?? []
    let verb = bindings.first?.template.verb.map { ":" + $0 } ?? ""
    path = segments.map { "/" + ($0 ?? "{\(rest.popFirst() ?? "")}") }.joined() + verb
  }

  /// Returns the name of a variable: that of a field of the request, otherwise the path to the field in camel case.
  private static func name(of variable: Int, in bindings: [RESTBinding]) -> String {
    let paths = bindings.map { binding in
      let path = binding.template.variables[variable].fieldPath
      return ((try? binding.method.binding.resolve(path, "")) ?? []).map(\.jsonName)
    }
    let path = paths.first { $0.count == 1 } ?? paths.first ?? []
    return path.prefix(1).joined() + path.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
  }

  /// Returns the segments of a template; nil for a variable.
  private static func pieces(_ template: PathTemplate) -> [String?] {
    template.segments.enumerated().compactMap { (index, segment) -> String?? in
      if let variable = template.variables.first(where: { $0.segments.contains(index) }) {
        return variable.segments.lowerBound == index ? .some(nil) : nil
      }
      if case .literal(let word) = segment { return word }
      return "*"
    }
  }
}
