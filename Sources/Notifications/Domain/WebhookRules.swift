import CampanileAPI
import CampanileCodec
import CampanileService

/// Validates webhooks by the rules that their constraints cannot express.
enum WebhookRules {
  static let headersMax = 32
  static let headerNameMax = 128
  static let headerValueMax = 2_048
  /// The replacement for header values in responses. In an update, it retains the stored value.
  static let mask = "***"

  /// Headers of framing and routing (RFC 9110, 9112), which the sender sets itself.
  private static let reservedHeaders: Set<String> = [
    "connection", "content-length", "expect", "host", "http2-settings", "keep-alive", "proxy-authenticate",
    "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "via",
  ]

  static func check(_ webhook: Webhook, _ path: String, _ violations: inout Violations) {
    for field in WebhookField.allCases { check(field, of: webhook, path, &violations) }
  }

  static func check(_ field: WebhookField, of webhook: Webhook, _ path: String, _ violations: inout Violations) {
    switch field {
    case .name, .method, .body: break
    case .url:
      violations.webURL(webhook.url, "\(path).url")
      // Responses contain the URL of a webhook, but only masked headers.
      if URLRules.hasUserInformation(webhook.url[...]) {
        violations.add("\(path).url", "must not contain credentials: put them into a header", .urlInvalid)
      }
    case .headers: check(webhook.headers, "\(path).headers", &violations)
    }
  }

  /// Whether a method sends a body (RFC 9110, section 9.3).
  static func carriesBody(_ method: Webhook.Method) -> Bool { ![.get, .head, .delete].contains(method) }

  /// Returns the name of a method in a request (RFC 9110, section 9.1).
  static func name(of method: Webhook.Method) -> String {
    switch method {
    case .get: "GET"
    case .head: "HEAD"
    case .put: "PUT"
    case .patch: "PATCH"
    case .delete: "DELETE"
    // The contract's constraint rejects other numbers; a stored webhook always has a method.
    case .post, .unspecified, .unrecognized: "POST"
    }
  }

  /// Reports whether a name is a token (RFC 9110, section 5.6.2) of 1 to 128 characters that the sender does not set
  /// itself.
  static func isHeaderName(_ name: String) -> Bool {
    (1...headerNameMax).contains(name.utf8.count) && name.utf8.allSatisfy(isTokenByte)
      && !reservedHeaders.contains(name.lowercased())
  }

  /// Reports whether a value has at most 2048 visible ASCII characters, spaces and tabs. Line breaks would inject
  /// another header.
  static func isHeaderValue(_ value: String) -> Bool {
    value.utf8.count <= headerValueMax && value.utf8.allSatisfy { (0x20...0x7E).contains($0) || $0 == 0x09 }
  }

  /// Returns the webhook for a response: header values are secret.
  static func masked(_ webhook: Webhook) -> Webhook {
    var webhook = webhook
    webhook.headers = webhook.headers.mapValues { _ in mask }
    return webhook
  }

  /// Replaces `***` by the stored values. Adds a violation for a header without one.
  static func unmask(_ headers: inout [String: String], stored: [String: String], _ violations: inout Violations) {
    let known = Dictionary(stored.map { ($0.key.lowercased(), $0.value) }, uniquingKeysWith: { first, _ in first })
    for (name, value) in headers.sorted(by: { $0.key < $1.key }) where value == mask {
      if let kept = known[name.lowercased()] {
        headers[name] = kept
      } else {
        violations.add("webhook.headers.\(name)", "has no stored value to keep", .headerValueInvalid)
      }
    }
  }

  private static func check(_ headers: [String: String], _ path: String, _ violations: inout Violations) {
    guard headers.count <= headersMax else { return }
    var seen: Set<String> = []
    for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
      // The name comes from the request: echo at most the maximum length of a name.
      let field = "\(path).\(String(name.unicodeScalars.prefix(headerNameMax)))"
      if !isHeaderName(name) {
        violations.add(field, "must be a header name that the server does not set itself", .headerNameInvalid)
      } else if !seen.insert(name.lowercased()).inserted {
        violations.add(field, "is given twice", .headerNameInvalid)
      }
      if !isHeaderValue(value) {
        violations.add(
          field, "must have at most \(headerValueMax) characters of ASCII without line breaks", .headerValueInvalid)
      }
    }
  }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    TextRules.isLetter(byte) || TextRules.isDigit(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte)
  }
}

/// The fields of a webhook that callers may change.
enum WebhookField: String, MaskableField {
  case name, method, url, headers, body

  func isSet(in message: Webhook) -> Bool {
    switch self {
    case .name: !message.name.isEmpty
    case .method: message.method != .unspecified
    case .url: !message.url.isEmpty
    case .headers: !message.headers.isEmpty
    case .body: !message.body.isEmpty
    }
  }

  func copy(from source: Webhook, to target: inout Webhook) {
    switch self {
    case .name: target.name = source.name
    case .method: target.method = source.method
    case .url: target.url = source.url
    case .headers: target.headers = source.headers
    case .body: target.body = source.body
    }
  }
}
