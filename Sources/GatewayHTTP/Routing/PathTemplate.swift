/// The path template of a `google.api.http` rule (google/api/http.proto, "Path template syntax").
struct PathTemplate: Sendable, Hashable {
  enum Segment: Sendable, Hashable {
    case literal(String)
    /// `*`: one segment.
    case one
    /// `**`: the rest of the path, at least one segment.
    case rest
  }

  struct Variable: Sendable, Hashable {
    /// The field's path in the request, in proto names.
    var fieldPath: [String]
    /// The segments that the variable captures.
    var segments: Range<Int>
  }

  private(set) var segments: [Segment] = []
  private(set) var variables: [Variable] = []
  /// The custom verb after the last colon, such as `markRead`.
  private(set) var verb: String?

  /// Parses a template; nil if the text is invalid.
  init?(_ text: String) {
    guard text.hasPrefix("/"), text.utf8.count <= 512 else { return nil }
    var rest = text.dropFirst()
    // The syntax has no colons inside braces, so a colon after the last brace and slash begins the verb.
    if let colon = rest.lastIndex(of: ":"), !rest[colon...].contains("/"), !rest[colon...].contains("}") {
      verb = String(rest[rest.index(after: colon)...])
      guard verb?.isEmpty == false else { return nil }
      rest = rest[..<colon]
    }
    while !rest.isEmpty {
      guard let end = Self.endOfPart(rest), append(rest[..<end]) else { return nil }
      rest = rest[end...]
      guard rest.isEmpty || rest.first == "/" && rest.count > 1 else { return nil }
      rest = rest.dropFirst()
    }
    guard !segments.isEmpty, segments.dropLast().allSatisfy({ $0 != .rest }) else { return nil }
  }

  /// Returns the end of the segment or variable at the start of `rest`.
  private static func endOfPart(_ rest: Substring) -> Substring.Index? {
    if rest.first == "{" { return rest.firstIndex(of: "}").map(rest.index(after:)) }
    return rest.firstIndex(of: "/") ?? rest.endIndex
  }

  private mutating func append(_ part: Substring) -> Bool {
    guard part.first == "{" else { return append(segment: part) }
    let inner = part.dropFirst().dropLast().split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let path = inner[0].split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard path.allSatisfy({ !$0.isEmpty }) else { return false }
    let start = segments.count
    let pattern = inner.count > 1 ? inner[1] : "*"
    for piece in pattern.split(separator: "/", omittingEmptySubsequences: false) {
      guard append(segment: piece) else { return false }
    }
    variables.append(Variable(fieldPath: path, segments: start..<segments.count))
    return true
  }

  private mutating func append(segment: Substring) -> Bool {
    guard !segment.isEmpty, !segment.contains("{"), !segment.contains("}") else { return false }
    switch segment {
    case "*": segments.append(.one)
    case "**": segments.append(.rest)
    default: segments.append(.literal(String(segment)))
    }
    return true
  }
}
