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

  init(_ method: Contract.Method, _ contract: Contract) {
    self.method = method
    comments = [method.documentation] + contract.requestFields(of: method).map(\.documentation)
    reasons = contract.reasons(of: method)
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

extension Contract.Method {
  /// Whether a member's session identifies the caller.
  var takesSessions: Bool { access.scope.hasPrefix(PresentedSession.serviceName + ":") }
}
