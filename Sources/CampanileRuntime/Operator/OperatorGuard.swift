internal import CampanileRPC

/// What the operator's surface takes: requests of programs on this machine, and none that a web page makes by a browser here.
///
/// A page can have its own name resolve to 127.0.0.1 (DNS rebinding): then the request names the page's host. It can post to other
/// origins without asking: then the request tells its origin, and has no JSON as its type.
struct OperatorGuard: Sendable, Hashable {
  /// The IP address of the other side; nil where it has none.
  var peer: String?
  /// The header `Host`.
  var host: String?
  var hasOrigin = false
  /// The header `Sec-Fetch-Site` (W3C Fetch Metadata).
  var fetchSite: String?
  var method: String
  var contentType: String?

  enum Refusal: String, Sendable, Hashable {
    case notLoopback = "the operator's surface is for this machine alone"
    case foreignHost = "the header Host must name this machine: 127.0.0.1, [::1] or localhost"
    case foreignPage = "web pages have no access"
    case notJSON = "the content type must be application/json"

    var status: Int { self == .notJSON ? 415 : 403 }
  }

  /// Why the request is not served; nil when it is.
  var refusal: Refusal? {
    guard let peer, ClientConfiguration.Address.isLoopback(peer.hasPrefix("::ffff:") ? String(peer.dropFirst(7)) : peer)
    else {
      return .notLoopback
    }
    guard let host, ClientConfiguration.Address.isLoopback(Self.name(of: host)) else { return .foreignHost }
    if hasOrigin || (fetchSite ?? "none") != "none" { return .foreignPage }
    guard method != "GET", method != "HEAD" else { return nil }
    let type = contentType?.split(separator: ";").first.map { $0.trimmingSpaces().lowercased() }
    return type == "application/json" ? nil : .notJSON
  }

  /// Without the port.
  private static func name(of host: String) -> String {
    if host.hasPrefix("["), let end = host.firstIndex(of: "]") { return String(host[...end]) }
    return host.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).first.map(String.init) ?? ""
  }
}
