import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import GatewayHTTP

/// The values of one request to publish. Headers take precedence over the query, and the query over a form.
struct PublishParameters: Sendable {
  struct Value: Sendable, Hashable {
    var text: String
    /// The place of the value, for the reply: `header X-Title`, `query t`, `form title`.
    var source: String
  }

  private(set) var values: [PublishParameter: Value] = [:]
  /// The parts of the request without an effect, each with its reason.
  private(set) var notes: [String] = []

  /// Reads the head of a request. Throws INVALID_ARGUMENT naming every parameter that is unknown, given twice in one
  /// place, or not UTF-8.
  init(_ request: RequestHead) throws(RPCError) {
    var violations = Violations()
    for header in request.headers {
      switch PublishParameter.ofHeader(header.name) {
      case .other: break
      case .unknown: violations.add(header.name, "is not a parameter of a message", .parameterUnknown)
      case .resembling(let name): note("header \(header.name) is unknown; did you mean X-\(name)?")
      case .parameter(.priority) where Self.isHTTPPriority(header): break
      case .parameter(let parameter):
        guard let text = EncodedWords.decoded(header.value.trimmingSpaces) else {
          violations.add(header.name, "must be UTF-8, or encoded as in RFC 2047", .textInvalid)
          continue
        }
        set(parameter, Value(text: text, source: "header \(header.name)"), &violations)
      }
    }
    let inHeaders = values
    values = [:]
    add(try QueryText(request.query), from: "query", &violations)
    values.merge(inHeaders) { $1 }
    try violations.check()
    for (parameter, value) in values.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      if let reason = parameter.isWithoutEffect { note("\(value.source): \(reason)") }
    }
  }

  /// Adds the parameters of a form, where neither a header nor the query has one.
  mutating func add(form: QueryText) throws(RPCError) {
    var violations = Violations()
    let earlier = values
    values = [:]
    add(form, from: "form", &violations)
    values.merge(earlier) { $1 }
    try violations.check()
  }

  mutating func note(_ text: String) { if notes.count < 32 { notes.append(text) } }

  subscript(_ parameter: PublishParameter) -> String? { values[parameter]?.text }

  /// Sets a value that the request's path contains.
  mutating func set(_ parameter: PublishParameter, fromPath text: String) {
    values[parameter] = Value(text: text, source: "path")
  }

  /// Whether every name of a query's text is a parameter, and one of them is the message or its title.
  static func isForm(_ text: QueryText) -> Bool {
    let found = text.parameters.map { PublishParameter.ofQuery($0.name) }
    return !found.contains(nil) && (found.contains(.message) || found.contains(.title))
  }

  private mutating func add(_ query: QueryText, from place: String, _ violations: inout Violations) {
    for parameter in query.parameters {
      guard let known = PublishParameter.ofQuery(parameter.name) else {
        violations.add(String(parameter.name.prefix(64)), "is not a parameter of a message", .parameterUnknown)
        continue
      }
      set(known, Value(text: parameter.value, source: "\(place) \(parameter.name)"), &violations)
    }
  }

  private mutating func set(_ parameter: PublishParameter, _ value: Value, _ violations: inout Violations) {
    if let other = values[parameter] {
      violations.add(parameter.rawValue, "is given twice: \(other.source) and \(value.source)", .parameterRepeated)
    }
    values[parameter] = value
  }

  /// Whether a header `Priority` is that of HTTP itself (RFC 9218), which browsers and proxies send: `u=1, i`.
  private static func isHTTPPriority(_ header: (name: String, value: String)) -> Bool {
    guard header.name.lowercased() == "priority" else { return false }
    let items = header.value.split(separator: ",").map { String($0).trimmingSpaces }
    return !items.isEmpty && items.allSatisfy { $0 == "i" || $0.hasPrefix("u=") || $0.hasPrefix("i=") }
  }
}

extension Reason {
  static let parameterUnknown = Reason(rawValue: "PARAMETER_UNKNOWN")
  static let parameterRepeated = Reason(rawValue: "PARAMETER_REPEATED")
  static let parameterInvalid = Reason(rawValue: "PARAMETER_INVALID")
}
