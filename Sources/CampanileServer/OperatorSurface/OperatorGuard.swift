import CampanileBase
internal import CampanileRPC

/// Access control of the admin port: admits programs on this machine, but no web pages in its browsers.
///
/// `HostGuard` rejects pages whose host name resolves to 127.0.0.1. A page can also post to other origins without a
/// preflight. Such a request has an `Origin` header, and its content type is not JSON.
struct OperatorGuard: Sendable, Hashable {
  /// The peer's IP address; nil if it has none.
  var peer: String?
  /// The header `Host`.
  var host: String?
  var hasOrigin = false
  /// The header `Sec-Fetch-Site` (W3C Fetch Metadata).
  var fetchSite: String?
  var method: String
  var contentType: String?

  enum Refusal: String, Sendable, Hashable {
    case notLoopback = "the admin port accepts only requests from this machine"
    case foreignHost = "the header Host must name this machine: 127.0.0.1, [::1] or localhost"
    case foreignPage = "web pages have no access"
    case notJSON = "the content type must be application/json"

    var status: Int { self == .notJSON ? 415 : 403 }
  }

  /// The reason for rejecting the request; nil if it is allowed.
  var refusal: Refusal? {
    guard let peer, HostPort.isLoopback(String(IPAddress.unmapped(peer[...]))) else { return .notLoopback }
    guard let host, HostGuard().allows(host) else { return .foreignHost }
    if hasOrigin || (fetchSite ?? "none") != "none" { return .foreignPage }
    guard method != "GET", method != "HEAD" else { return nil }
    let type = contentType?.split(separator: ";").first.map { $0.trimmingSpaces().lowercased() }
    return type == "application/json" ? nil : .notJSON
  }
}
