internal import CampanileContract

/// Prints the declarations of a contract in the proto language, with constraints and access as comments.
///
/// The contract may be a foreign server's, so each line is printed without terminal controls.
struct ProtoText {
  let contract: Contract

  /// The full names of all declarations that can be printed.
  var names: [String] { callableNames + typeNames }

  private var callableNames: [String] { contract.services.map(\.name) + contract.methods.map(\.path) }
  private var typeNames: [String] { contract.messages.keys.sorted() + contract.enums.keys.sorted() }

  /// Returns the declaration of `name`, with its comments if the descriptors contain them.
  ///
  /// A method includes its messages, the reasons of its errors, and commands with an example request.
  ///
  /// - Parameter name: A full name, or an abbreviation as in `NameResolver`.
  /// - Throws: `NameError` if the name is unknown or ambiguous.
  func text(of name: String) throws(NameError) -> String {
    let full = try resolve(name)
    var lines: [String] = []
    if let service = contract.services.first(where: { $0.name == full }) {
      lines = self.lines(service)
    } else if let method = contract.method(full) {
      lines = self.lines(method)
    } else if let message = contract.messages[full] {
      lines = self.lines(message, title: message.name, indent: "", depth: 0)
    } else if let item = contract.enums[full] {
      lines = self.lines(item, title: item.name, indent: "")
    }
    return lines.map { Terminal.printable($0) + "\n" }.joined()
  }

  /// Resolves an abbreviation. Services and methods take precedence over messages and enums of the same short name.
  private func resolve(_ name: String) throws(NameError) -> String {
    do throws(NameError) {
      return try NameResolver.resolve(name, among: callableNames, noun: "service, method or message")
    } catch {
      if let found = try? NameResolver.resolve(name, among: typeNames, noun: "message") { return found }
      return try NameResolver.resolve(name, among: names, noun: "service, method or message")
    }
  }

  private func lines(_ service: Contract.Service) -> [String] {
    var lines = Self.comment(service.documentation, indent: "") + ["service \(service.name) {"]
    for method in service.methods {
      lines += Self.comment(method.documentation, indent: "  ") + rpc(method, indent: "  ")
    }
    return lines + ["}"]
  }

  private func lines(_ method: Contract.Method) -> [String] {
    var lines = ["// \(method.path)"] + Self.comment(method.documentation, indent: "") + rpc(method, indent: "")
    for type in [method.requestType, method.responseType] {
      guard let message = contract.messages[type] else { continue }
      lines += [""] + self.lines(message, title: message.name, indent: "", depth: 0)
    }
    let reasons = contract.reasons(of: method)
    if !reasons.isEmpty {
      lines += ["", "// Reasons of errors, in addition to those of the gateway:"] + Self.list(reasons)
    }
    lines += ["", "// Example request:", contract.exampleRequest(of: method).text]
    return lines + ["", "// Command:", contract.commandLine(of: method)]
  }

  private func rpc(_ method: Contract.Method, indent: String) -> [String] {
    let package = contract.services.first { $0.name == method.service }?.package ?? ""
    let input = (method.streamsRequests ? "stream " : "") + Self.short(method.requestType, package)
    let output = (method.streamsResponses ? "stream " : "") + Self.short(method.responseType, package)
    let head = "\(indent)rpc \(method.name)(\(input)) returns (\(output))"
    var options: [String] = []
    if let level = method.idempotencyName { options.append("option idempotency_level = \(level);") }
    if method.isDeprecated { options.append("option deprecated = true;") }
    if !method.access.scope.isEmpty { options.append("// Scope: \(method.access.scope)") }
    options += method.httpRules.map { "// REST: \($0.verb) \($0.template)" }
    return options.isEmpty ? [head + ";"] : [head + " {"] + options.map { indent + "  " + $0 } + [indent + "}"]
  }

  private func lines(_ message: Contract.Message, title: String, indent: String, depth: Int) -> [String] {
    guard depth < Contract.depthMax else { return [] }
    let inner = indent + "  "
    var lines = Self.comment(message.documentation, indent: indent) + ["\(indent)message \(title) {"]
    if message.isDeprecated { lines.append(inner + "option deprecated = true;") }
    for item in message.nestedEnums.compactMap({ contract.enums[$0] }) {
      lines += self.lines(item, title: String(item.name.dropFirst(message.name.count + 1)), indent: inner)
    }
    for nested in message.nestedMessages.compactMap({ contract.messages[$0] }) {
      let title = String(nested.name.dropFirst(message.name.count + 1))
      lines += self.lines(nested, title: title, indent: inner, depth: depth + 1)
    }
    var open: String?
    for field in message.fields {
      if field.oneof != open, open != nil { lines.append(inner + "}") }
      if let oneof = field.oneof, oneof != open {
        if let comment = message.oneofs[oneof] { lines += Self.comment(comment, indent: inner) }
        lines.append("\(inner)oneof \(oneof) {")
      }
      open = field.oneof
      let fieldIndent = field.oneof == nil ? inner : inner + "  "
      lines += Self.comment(field.documentation, indent: fieldIndent)
      lines.append(fieldIndent + declaration(field, package: message.package))
    }
    if open != nil { lines.append(inner + "}") }
    return lines + [indent + "}"]
  }

  private func lines(_ item: Contract.Enumeration, title: String, indent: String) -> [String] {
    var lines = Self.comment(item.documentation, indent: indent) + ["\(indent)enum \(title) {"]
    for value in item.values {
      lines += Self.comment(value.documentation, indent: indent + "  ")
      lines.append("\(indent)  \(value.name) = \(value.number)\(value.isDeprecated ? " [deprecated = true]" : "");")
    }
    return lines + [indent + "}"]
  }

  private func declaration(_ field: Contract.Field, package: String) -> String {
    let types = field.protoTypes.map { Self.short($0, package) }
    let label = field.isRepeated ? "repeated " : field.isOptional ? "optional " : ""
    let type = types.count == 2 ? "map<\(types[0]), \(types[1])>" : label + types[0]
    let options = field.isDeprecated ? " [deprecated = true]" : ""
    let constraints = contract.phrases(of: field).joined(separator: ", ")
    return "\(type) \(field.name) = \(field.number)\(options);" + (constraints.isEmpty ? "" : "  // " + constraints)
  }

  private static func comment(_ documentation: Documentation, indent: String) -> [String] {
    documentation.lines.map { indent + ($0.isEmpty ? "//" : "// " + $0) }
  }

  /// Returns words as comment lines of at most 100 columns.
  private static func list(_ words: [String]) -> [String] {
    var lines: [String] = []
    for word in words {
      if let last = lines.last, last.count + word.count < 98 {
        lines[lines.count - 1] = last + ", " + word
      } else {
        lines.append("// " + word)
      }
    }
    return lines
  }

  /// Returns a type's name relative to `package`.
  private static func short(_ type: String, _ package: String) -> String {
    !package.isEmpty && type.hasPrefix(package + ".") ? String(type.dropFirst(package.count + 1)) : type
  }
}
