import CampanileBase
import CampanileContract
import Gateway

/// The summary and the description of a method, from its comment, its access and its constraints.
struct OperationText {
  private let method: Contract.Method
  /// The stable reasons of the errors that the contract names for the method.
  private let reasons: [String]
  /// The comments of the method and of its request.
  private let comments: [Documentation]

  init(_ method: Contract.Method, _ contract: Contract, _ words: ContractWords) {
    self.method = method
    let fields = Self.fields(of: method.requestType, contract)
    comments = [method.documentation] + fields.map(\.documentation)
    let named = comments.flatMap(\.reasons).filter { !words.isOther($0) }
    reasons = fields.reduce(into: Set(named)) { $0.formUnion($1.rules.reasons) }.sorted()
  }

  /// Returns the fields of a message and of the messages inside it.
  private static func fields(of name: String, _ contract: Contract) -> [Contract.Field] {
    var fields: [Contract.Field] = []
    var seen: Set<String> = []
    var waiting = [name]
    while let name = waiting.popLast() {
      guard seen.insert(name).inserted, let message = contract.messages[name] else { continue }
      let serverFields = message.serverFields
      for field in message.fields where !serverFields.contains(field.name) {
        fields.append(field)
        if case .message(let inner) = field.kind { waiting.append(inner) }
        if case .map(_, .message(let inner)) = field.kind { waiting.append(inner) }
      }
    }
    return fields
  }

  /// Whether a comment of the method or of its request contains a text.
  func mentions(_ text: String) -> Bool { comments.contains { $0.text.contains(text) } }

  /// The first sentence without the method's name, which the operation id contains. Without a comment, the words of the
  /// name.
  var summary: String {
    var text = method.documentation.summary
    if text.hasPrefix(method.name + " ") { text.removeFirst(method.name.count + 1) }
    if text.isEmpty { text = Self.words(method.name) }
    if text.hasSuffix(".") { text.removeLast() }
    return text.prefix(1).uppercased() + text.dropFirst()
  }

  private static func words(_ name: String) -> String {
    name.map { $0.isUppercase ? " \($0.lowercased())" : String($0) }.joined().trimmingSpaces
  }

  var description: String {
    var paragraphs = method.documentation.paragraphs
    switch method.access.scope {
    case "public": paragraphs.append("No credential is required.")
    case "authenticated": paragraphs.append("Any credential is enough.")
    case "": break
    case let scope: paragraphs.append("Requires the scope `\(scope)`.")
    }
    if method.takesSessions { paragraphs.append("A member's session may replace the credential.") }
    if !reasons.isEmpty {
      paragraphs.append("Reasons of errors:\n\n" + reasons.map { "- `\($0)`" }.joined(separator: "\n"))
    }
    return paragraphs.joined(separator: "\n\n")
  }
}

/// Words of comments that look like reasons of errors: statuses, and values of enums with or without their prefix.
struct ContractWords {
  private let values: Set<String>

  init(_ contract: Contract) {
    values = contract.enums.values.reduce(into: []) { words, item in
      for value in item.values {
        var rest = value.name[...]
        words.insert(value.name)
        while let underscore = rest.firstIndex(of: "_") {
          rest = rest[rest.index(after: underscore)...]
          words.insert(String(rest))
        }
      }
    }
  }

  /// Whether a word is not the reason of an error.
  func isOther(_ word: String) -> Bool { values.contains(word) || RPCError.Code(name: word) != nil }
}

extension Contract.Method {
  /// Whether a member's session identifies the caller.
  var takesSessions: Bool { access.scope.hasPrefix(PresentedSession.serviceName + ":") }
}
