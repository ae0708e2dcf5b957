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
  /// The types of bodies; none of them can be sent by a form.
  private static let bodyTypes: Set<String> = ["application/json", "application/connect+json"]
  /// The type of contents that the page uploads. Forms cannot send PUT.
  private static let contentType = "application/octet-stream"

  /// Whether the port uses TLS, where the cookie has another name that browsers protect.
  let isEncrypted: Bool
  /// Nil if callers may use any host name for the gateway.
  let hostGuard: HostGuard?

  var format: CookieFormat {
    CookieFormat(plainName: "campanile_console", isSecure: isEncrypted, sameSite: "Strict")
  }

  /// Returns the value of the cookie if it counts as the credential of a request: the console's page has caused it, and
  /// it has no other credential.
  func credential(of head: HTTPRequestHead) -> String? {
    guard head.headers.contains(name: "cookie"), !hasOtherCredential(head),
      isOwn(method: head.method.rawValue, head.headers)
    else { return nil }
    return format.value(in: head.headers)
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
}
