import CampanileCodec

extension Contract {
  /// The shortest name of a method that is unique in the contract: `CreateBucket`, or `Health/Check`.
  package func shortName(of method: Method) -> String {
    if methods.filter({ $0.name == method.name }).count == 1 { return method.name }
    let service = method.service.split(separator: ".").last.map(String.init) ?? method.service
    let name = service + "/" + method.name
    return methods.filter { ("." + $0.path).hasSuffix("." + name) }.count == 1 ? name : method.path
  }

  /// Returns the shell command that calls a method with its example request by the CLI.
  package func commandLine(of method: Method) -> String {
    let verb = method.streamsResponses && !method.streamsRequests ? "watch" : "call"
    let words = ["campanile", verb, ShellText.quoted(shortName(of: method))]
    let request = exampleRequest(of: method)
    // A stream of requests is read from standard input if there is no argument.
    let isNeeded = request != .object([:]) || method.streamsRequests
    return (words + (isNeeded ? [ShellText.quoted(request.text)] : [])).joined(separator: " ")
  }

  /// Returns the shell command that calls a method with its example request by curl; nil if the method streams its
  /// requests. It uses the gateway's default port and the key in `$CAMPANILE_KEY`.
  package func curlLine(of method: Method) -> String? {
    guard !method.streamsRequests else { return nil }
    let request = HTTPExample(method, exampleRequest(of: method))
    var words = ["curl"]
    if method.streamsResponses { words.append("-N") }
    if request.verb != (request.body == nil ? "GET" : "POST") { words += ["-X", request.verb] }
    if !["", "public"].contains(method.access.scope) {
      words += ["-H", "\"Authorization: Bearer $CAMPANILE_KEY\""]
    }
    if request.isEventStream { words += ["-H", "'Accept: text/event-stream'"] }
    if let body = request.body {
      words += ["-H", "'Content-Type: application/json'", "-d", ShellText.quoted(body.text)]
    }
    return (words + [ShellText.quoted("http://127.0.0.1:7480" + request.target)]).joined(separator: " ")
  }
}

/// The HTTP request of a method with an example: by its first REST rule, otherwise by the Connect protocol.
private struct HTTPExample {
  var verb = "POST"
  var target: String
  var body: JSONTree?
  /// Whether the request must ask for events, because the path has another format too.
  var isEventStream = false

  init(_ method: Contract.Method, _ request: JSONTree) {
    guard let rule = method.httpRules.first else {
      target = "/" + method.path
      body = request
      isEventStream = method.streamsResponses
      return
    }
    var rest = request
    verb = rule.verb
    target = ""
    for part in rule.parts {
      switch part {
      case .text(let text): target += text
      case .variable(let path): target += rest.remove(path[...]).map(Self.escaped) ?? ""
      }
    }
    switch rule.body {
    case "*": body = rest
    case "": break
    default: body = rest.remove([rule.body]) ?? .object([:])
    }
    guard rule.body != "*" else { return }
    let query = Self.parameters(rest, "").map { "\($0)=\(Self.escaped($1))" }
    if !query.isEmpty { target += "?" + query.joined(separator: "&") }
  }

  /// Returns the query parameters of a request: nested fields as `a.b`, lists by repetition.
  private static func parameters(_ tree: JSONTree, _ name: String) -> [(name: String, value: JSONTree)] {
    switch tree {
    case .object(let members):
      members.sorted { $0.key < $1.key }.flatMap { parameters($1, name.isEmpty ? $0 : name + "." + $0) }
    case .array(let values): values.flatMap { parameters($0, name) }
    default: [(name, tree)]
    }
  }

  private static func escaped(_ tree: JSONTree) -> String {
    let text = if case .string(let text) = tree { text } else { tree.text }
    return text.utf8.map { byte in
      let isPlain =
        byte < 0x80 && (Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber)
      if isPlain || "-._~:*".utf8.contains(byte) { return String(Unicode.Scalar(byte)) }
      let digits = String(byte, radix: 16, uppercase: true)
      return "%" + (digits.count == 1 ? "0" : "") + digits
    }.joined()
  }
}

enum ShellText {
  /// Returns a word in single quotes, unless it has only characters that no shell changes.
  static func quoted(_ word: String) -> String {
    let isPlain = word.utf8.allSatisfy { byte in
      byte < 0x80
        && (Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber
          || "-._/:%=+@".utf8.contains(byte))
    }
    return isPlain && !word.isEmpty ? word : "'" + word.replacing("'", with: "'\\''") + "'"
  }
}

extension JSONTree {
  /// The tree as JSON without spaces.
  package var text: String {
    var writer = JSONWriter()
    write(to: &writer)
    return writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// Removes the member at a path of proto names and returns it. Objects that become empty are removed.
  fileprivate mutating func remove(_ path: ArraySlice<String>) -> JSONTree? {
    guard let name = path.first, case .object(var members) = self else { return nil }
    let key = members[name] == nil ? Contract.Field.camelCase(name) : name
    guard var inner = members[key] else { return nil }
    let rest = path.dropFirst()
    if rest.isEmpty {
      members[key] = nil
      self = .object(members)
      return inner
    }
    let found = inner.remove(rest)
    members[key] = inner == .object([:]) ? nil : inner
    self = .object(members)
    return found
  }
}
