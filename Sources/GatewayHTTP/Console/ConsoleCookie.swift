import CampanileRPC
import Gateway
import NIOHTTP1

/// The rules for the cookie of the console, as pure functions of a request's head.
///
/// A cookie is sent by the browser, whichever page causes the request. It counts only if the console's own page has
/// caused it. All conditions must hold; docs/decisions/0066 explains them.
struct ConsoleCookie: Sendable {
  /// The header of the console's own requests. Forms and links cannot send it; scripts of other origins can only after
  /// a preflight.
  static let header = "x-campanile-console"
  private static let valueBytesMax = 64
  /// The types of bodies; none of them can be sent by a form.
  private static let bodyTypes: Set<String> = ["application/json", "application/connect+json"]
  /// The type of contents that the page uploads. Forms cannot send PUT.
  private static let contentType = "application/octet-stream"

  /// Whether the port uses TLS, where the cookie has another name that browsers protect.
  let isEncrypted: Bool
  /// Nil if callers may use any host name for the gateway.
  let hostGuard: HostGuard?

  var name: String { isEncrypted ? "__Host-campanile_console" : "campanile_console" }

  /// Returns the header that sets the cookie, or with an empty value clears it.
  func header(_ value: String, maxAgeS: Int64) -> DialectAnswer.Header {
    DialectAnswer.Header(
      name: "Set-Cookie",
      value: "\(name)=\(value); Path=/; Max-Age=\(max(0, maxAgeS)); HttpOnly; SameSite=Strict"
        + (isEncrypted ? "; Secure" : ""))
  }

  /// Returns the value of the cookie if it counts as the credential of a request: the console's page has caused it, and
  /// it has no other credential.
  func credential(of head: HTTPRequestHead) -> String? {
    guard head.headers.contains(name: "cookie"), !hasOtherCredential(head),
      isOwn(method: head.method.rawValue, head.headers)
    else { return nil }
    return value(in: head)
  }

  /// Returns whether the console's own page has caused a request.
  func isOwn(method: String, _ headers: HTTPHeaders) -> Bool {
    headers[Self.header] == ["1"] && isOwnHost(headers) && isSameOrigin(headers) && hasOwnBody(method, headers)
  }

  private func isOwnHost(_ headers: HTTPHeaders) -> Bool {
    let hosts = headers["host"]
    return hosts.count == 1 && hosts.allSatisfy { hostGuard?.allows($0) ?? true }
  }

  /// Browsers that know fetch metadata send it with every request. Others send the origin with all but GET and HEAD.
  private func isSameOrigin(_ headers: HTTPHeaders) -> Bool {
    let sites = headers["sec-fetch-site"]
    let origins = headers["origin"]
    guard sites.count <= 1, origins.count <= 1, !(sites.isEmpty && origins.isEmpty) else { return false }
    if let site = sites.first, site != "same-origin" { return false }
    if let origin = origins.first, !isOwn(origin: origin, host: headers["host"].first ?? "") { return false }
    return true
  }

  /// Behind a proxy that ends TLS, the scheme of the page is not that of the request.
  private func isOwn(origin: String, host: String) -> Bool {
    let origin = origin.lowercased()
    return (isEncrypted ? ["https"] : ["https", "http"]).contains { "\($0)://\(host.lowercased())" == origin }
  }

  private func hasOwnBody(_ method: String, _ headers: HTTPHeaders) -> Bool {
    let hasBody = headers.contains(name: "transfer-encoding") || headers["content-length"].contains { $0 != "0" }
    let types = headers["content-type"]
    guard hasBody || !types.isEmpty else { return true }
    guard types.count == 1, let text = types[0].split(separator: ";").first else { return false }
    let type = String(text).trimmingSpaces.lowercased()
    return Self.bodyTypes.contains(type) || method == "PUT" && type == Self.contentType
  }

  /// `Authorization` and a member's session are explicit; so is a token in the query, which only events accept.
  private func hasOtherCredential(_ head: HTTPRequestHead) -> Bool {
    head.headers.contains(name: "authorization") || head.headers.contains(name: PresentedSession.metadataKey)
      || head.uri.contains("\(HTTPPlanner.queryToken)=")
  }

  /// Returns the cookie's value; nil without one, and if there are two, because another site of the same domain may
  /// have set one of them.
  private func value(in head: HTTPRequestHead) -> String? {
    var found: [Substring] = []
    for header in head.headers["cookie"] {
      for pair in header.split(separator: ";") {
        let text = pair.drop { $0 == " " || $0 == "\t" }
        guard let equals = text.firstIndex(of: "="), text[..<equals] == name else { continue }
        found.append(text[text.index(after: equals)...])
      }
    }
    guard found.count == 1, let value = found.first.map({ String($0).trimmingSpaces }),
      value.utf8.count <= Self.valueBytesMax
    else { return nil }
    return value
  }
}
