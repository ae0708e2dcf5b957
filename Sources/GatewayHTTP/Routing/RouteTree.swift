import CampanileBase
import CampanileRPC

/// Finds a request's binding by method and path. Literals take precedence over variables, and single-segment variables
/// over `**`.
struct RouteTree<Value: Sendable>: Sendable {
  private struct Node: Sendable {
    var literals: [String: Int] = [:]
    var one: Int?
    var rest: Int?
    /// Bindings by HTTP method and custom verb.
    var values: [Key: (template: PathTemplate, value: Value)] = [:]
  }
  private struct Key: Hashable {
    var method: String
    var verb: String?
  }

  enum Match {
    case found(Value, captures: [[String]: String])
    /// The path exists only for these methods.
    case otherMethod([String])
    case none
  }

  private var nodes = [Node()]

  /// Adds a binding. Returns false if the method and template already have one.
  mutating func add(_ template: PathTemplate, method: String, _ value: Value) -> Bool {
    var node = 0
    for segment in template.segments { node = child(of: node, segment) }
    let key = Key(method: method, verb: template.verb)
    guard nodes[node].values[key] == nil else { return false }
    nodes[node].values[key] = (template, value)
    return true
  }

  private mutating func child(of node: Int, _ segment: PathTemplate.Segment) -> Int {
    let next = nodes.count
    switch segment {
    case .literal(let text):
      if let known = nodes[node].literals[text] { return known }
      nodes[node].literals[text] = next
    case .one:
      if let known = nodes[node].one { return known }
      nodes[node].one = next
    case .rest:
      if let known = nodes[node].rest { return known }
      nodes[node].rest = next
    }
    nodes.append(Node())
    return next
  }

  /// Finds the binding of a request.
  ///
  /// - Parameter segments: The result of `RequestPath.segments`.
  /// - Throws: INVALID_ARGUMENT `PATH_INVALID` if the text of a variable is not UTF-8.
  func match(method: String, segments: [Substring]) throws(RPCError) -> Match {
    guard let last = segments.last else { return .none }
    var methods: [String] = []
    // Try a custom verb first, then the colon as part of the last segment.
    if let colon = last.lastIndex(of: ":"), colon != last.startIndex {
      var bare = segments
      bare[bare.count - 1] = last[..<colon]
      let verb = String(last[last.index(after: colon)...])
      if let found = try find(bare, Key(method: method, verb: verb), &methods) { return found }
      // The path has this verb for other methods, so the colon cannot belong to an id.
      if !methods.isEmpty { return .otherMethod(Set(methods).sorted()) }
    }
    if let found = try find(segments, Key(method: method, verb: nil), &methods) { return found }
    return methods.isEmpty ? .none : .otherMethod(Set(methods).sorted())
  }

  private func find(_ segments: [Substring], _ key: Key, _ methods: inout [String]) throws(RPCError) -> Match? {
    guard let node = search(0, segments[...], key, &methods), let entry = nodes[node].values[key] else { return nil }
    var captures: [[String]: String] = [:]
    for variable in entry.template.variables {
      let isRest = entry.template.segments[variable.segments].contains(.rest)
      let upper = isRest ? segments.count : variable.segments.upperBound
      var texts: [String] = []
      for segment in segments[variable.segments.lowerBound..<upper] { texts.append(try RequestPath.decoded(segment)) }
      captures[variable.fieldPath] = texts.joined(separator: "/")
    }
    return .found(entry.value, captures: captures)
  }

  /// Searches depth first. The depth is bounded by the tree, and each segment has at most three branches.
  private func search(_ node: Int, _ rest: ArraySlice<Substring>, _ key: Key, _ methods: inout [String]) -> Int? {
    guard let first = rest.first else {
      if nodes[node].values[key] != nil { return node }
      methods += nodes[node].values.keys.filter { $0.verb == key.verb }.map(\.method)
      return nil
    }
    if let next = nodes[node].literals[String(first)], let found = search(next, rest.dropFirst(), key, &methods) {
      return found
    }
    if let next = nodes[node].one, let found = search(next, rest.dropFirst(), key, &methods) { return found }
    guard let next = nodes[node].rest else { return nil }
    return search(next, [], key, &methods)
  }
}
