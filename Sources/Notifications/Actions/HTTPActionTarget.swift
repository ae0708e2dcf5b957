import CampanileBase
import CampanileService
import Foundation

/// The target of an HTTP request: a URL in a form that the sender and its HTTP client parse identically.
struct HTTPActionTarget: Sendable, Hashable {
  /// `http` or `https`.
  var scheme: String
  /// In lower case and ASCII, without brackets.
  var host: String
  var port: Int
  /// Path and query.
  var uri: String
  /// `user:password` of the URL, for Basic authentication; nil if it has none.
  var credentials: String?

  /// Returns nil unless `text` is an absolute http or https URL.
  init?(_ text: String) {
    guard URLRules.isWebURL(text[...]), let url = URL(string: text) else { return nil }
    self.init(url)
  }

  private init?(_ url: URL) {
    guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: true), let scheme = parts.scheme?.lowercased(),
      scheme == "http" || scheme == "https", let encodedHost = parts.encodedHost
    else { return nil }
    var host = encodedHost.lowercased()
    if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
    guard IPAddress(host) != nil || Self.isName(host) else { return nil }
    let port = parts.port ?? (scheme == "https" ? 443 : 80)
    guard (1...65_535).contains(port) else { return nil }
    self.scheme = scheme
    self.host = host
    self.port = port
    let path = parts.percentEncodedPath
    uri = (path.isEmpty ? "/" : path) + (parts.percentEncodedQuery.map { "?\($0)" } ?? "")
    if let user = parts.user { credentials = "\(user):\(parts.password ?? "")" }
  }

  /// The address if the host is one, so that nothing has to be resolved.
  var address: IPAddress? { IPAddress(host) }

  var text: String {
    let isIPv6 = host.utf8.contains(UInt8(ascii: ":"))
    return "\(scheme)://\(isIPv6 ? "[\(host)]" : host):\(port)\(uri)"
  }

  /// Whether the other target has the same origin (RFC 6454).
  func hasOrigin(of other: HTTPActionTarget) -> Bool {
    scheme == other.scheme && host == other.host && port == other.port
  }

  /// Resolves a Location header (RFC 9110, section 10.2.2). Returns nil if the result is not an http or https URL.
  func resolving(_ location: String) -> HTTPActionTarget? {
    guard location.utf8.count <= URLRules.sizeMax, let base = URL(string: text),
      let url = URL(string: location, relativeTo: base)?.absoluteURL
    else { return nil }
    return HTTPActionTarget(url.absoluteString)
  }

  /// Letters, digits, `.`, `-` and `_`: everything that resolvers accept, and nothing that parsers could interpret
  /// differently.
  private static func isName(_ host: String) -> Bool {
    (1...253).contains(host.utf8.count)
      && host.utf8.allSatisfy { byte in
        TextRules.isLetter(byte) || TextRules.isDigit(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
          || byte == UInt8(ascii: "_")
      }
  }
}
