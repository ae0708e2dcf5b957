import CampanileContract

/// Writes the page of a service.
struct MarkdownService {
  let contract: Contract
  let links: MarkdownLinks

  func page(_ service: Contract.Service) -> String {
    var text = MarkdownText()
    text.lines(MarkdownText.generated, "# \(links.title(service.name))", "")
    text.comment(service.documentation)
    text.lines("Full name: `\(service.name)`. [All services and the conventions](README.md).", "")
    text.table(["Method", "Scope", "REST", "Description"]) { table in
      for method in service.methods {
        table.row([
          "[\(method.name)](#\(MarkdownLinks.slug(method.name)))", MarkdownText.codeCell(Self.scope(method)),
          method.httpRules.map { MarkdownText.codeCell("\($0.verb) \($0.template)") }.joined(separator: "<br>"),
          MarkdownText.cell(method.documentation.summary),
        ])
      }
    }
    for method in service.methods { section(method, &text) }
    return text.text
  }

  private func section(_ method: Contract.Method, _ text: inout MarkdownText) {
    text.lines("## \(method.name)", "")
    if method.isDeprecated { text.lines("Deprecated.", "") }
    text.comment(method.documentation)
    text.lines("- Scope: `\(Self.scope(method))`" + (method.access.scope.isEmpty ? ", without a credential" : ""))
    text.lines("- " + Self.idempotency(method))
    if let streaming = Self.streaming(method) { text.lines("- " + streaming) }
    for rule in method.httpRules { text.lines("- REST: `\(rule.verb) \(rule.template)`") }
    if method.access.isBulk { text.lines("- An overloaded gateway refuses the call before others.") }
    if method.access.hasSecretResponse {
      text.lines("- The response contains a secret that is shown once. The gateway never stores it.")
    }
    let reasons = contract.reasons(of: method)
    if !reasons.isEmpty { text.lines("- Reasons of errors: " + reasons.map { "`\($0)`" }.joined(separator: ", ")) }
    text.lines("")
    message("Request", method.requestType, &text)
    message("Response", method.responseType, &text)
    text.lines("```sh", contract.commandLine(of: method))
    if let line = contract.curlLine(of: method) { text.lines(line) }
    text.lines("```", "")
  }

  private func message(_ title: String, _ name: String, _ text: inout MarkdownText) {
    text.lines("\(title): `\(links.title(name))`", "")
    guard let message = contract.messages[name] else { return }
    text.comment(message.documentation)
    MarkdownTypes(contract: contract, links: links).fields(message, &text)
  }

  private static func scope(_ method: Contract.Method) -> String {
    method.access.scope.isEmpty ? "public" : method.access.scope
  }

  private static func idempotency(_ method: Contract.Method) -> String {
    switch method.idempotencyName {
    case "NO_SIDE_EFFECTS"?: "Reads only: `NO_SIDE_EFFECTS`"
    case "IDEMPOTENT"?: "Safe to repeat: `IDEMPOTENT`"
    default: "A repetition may have another effect: `IDEMPOTENCY_UNKNOWN`"
    }
  }

  private static func streaming(_ method: Contract.Method) -> String? {
    switch (method.streamsRequests, method.streamsResponses) {
    case (false, false): nil
    case (false, true): "Streams its responses"
    case (true, false): "Streams its requests: by RPC, or by the Connect protocol with an envelope for each message"
    case (true, true): "Streams its requests and its responses: by RPC or by the Connect protocol"
    }
  }
}
