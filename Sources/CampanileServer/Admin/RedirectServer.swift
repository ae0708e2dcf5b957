import CampanileHTTP
import CampanileRPC
import NIOCore
import NIOHTTP1
import ServiceLifecycle

/// Settings for the redirection of plaintext requests to HTTPS.
package enum RedirectConfiguration {
  package static let port = "https-redirect-port"
  package static let target = "https-redirect-to"

  package static let all: [Setting] = [
    .int(
      port, in: 1...65_535, help: "plaintext HTTP port that redirects every request to HTTPS; unset disables it"),
    .string(
      target, help: "target of redirects, such as https://api.example (default: the requested host, at the HTTP port)"),
  ]

  /// Returns the redirection, or nil if it is disabled.
  ///
  /// - Throws: `ConfigurationError` `conflictingSettings` without TLS, `invalidValue` for an invalid target.
  static func configuration(_ settings: Settings) throws(ConfigurationError) -> (port: Int, target: HTTPSRedirect)? {
    guard settings.entries[port] != nil, let number = try settings.optionalInt(port) else { return nil }
    guard settings.isSet(CommonConfiguration.tlsCertFile) else {
      throw ConfigurationError(
        code: .conflictingSettings, key: port,
        message: "--\(port) needs TLS: --\(CommonConfiguration.tlsCertFile) and "
          + "--\(CommonConfiguration.tlsKeyFile)")
    }
    let base = try settings.optionalString(target)
    if let base {
      let name = base.dropFirst("https://".count)
      guard base.hasPrefix("https://"), HTTPSRedirect.isAuthority(name) else {
        throw ConfigurationError(
          code: .invalidValue, key: target, message: "\(target) must be https://HOST or https://HOST:PORT")
      }
    }
    return (number, HTTPSRedirect(base: base))
  }
}

/// The target of a redirect to HTTPS.
struct HTTPSRedirect: Sendable, Hashable {
  /// `https://HOST[:PORT]`; nil for the requested host.
  var base: String?

  /// Returns the URL to redirect a request to; nil if its host or path is missing or invalid.
  ///
  /// - Parameter httpsPort: The port of the HTTPS server.
  func location(authority: String?, path: String?, httpsPort: Int) -> String? {
    guard let path, path.hasPrefix("/"), path.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else { return nil }
    if let base { return base + path }
    guard let authority, Self.isAuthority(authority) else { return nil }
    let host =
      authority.hasPrefix("[")
      ? authority.prefix { $0 != "]" } + "]" : authority.prefix { $0 != ":" }
    return "https://\(host)\(httpsPort == 443 ? "" : ":\(httpsPort)")\(path)"
  }

  /// Returns whether `text` has only characters of a host and port, so that it cannot inject a path or header.
  static func isAuthority(_ text: some StringProtocol) -> Bool {
    !text.isEmpty && text.utf8.count <= 260
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "a")...UInt8(ascii: "z"),
          UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "["),
          UInt8(ascii: "]"):
          true
        default: false
        }
      }
  }
}

/// Redirects every plaintext request to HTTPS with 308 (RFC 9110 section 15.4.9), without reading its body.
struct RedirectServer: Service {
  let host: String
  let port: Int
  let redirect: HTTPSRedirect
  /// Waits for the HTTPS port.
  let httpsPort: @Sendable () async -> Int?
  let group: any EventLoopGroup

  /// Serves until graceful shutdown.
  ///
  /// - Throws: `StartupError` if the server cannot listen on the address.
  func run() async throws {
    guard let httpsPort = await httpsPort() else { return }
    let timeouts = HTTPTimeouts(answerTimeoutMs: 60_000, idleTimeoutMs: 10_000)
    let server = PageServer(PageLimits(timeouts: timeouts)) { head, _ in
      let location = redirect.location(
        authority: head.headers.first(name: "host"), path: PageTarget(head.uri).origin, httpsPort: httpsPort)
      return PagePlan { _ in
        guard let location else { return .own(400, [("Connection", "close")]) }
        return .own(308, [("Location", location), ("Connection", "close")])
      }
    }
    let listener: HTTPListener
    do { listener = try await server.listen(host: host, port: port, group: group) } catch let error as IOError {
      throw StartupError("cannot listen on \(host):\(port) for redirects: \(error.reasonText)")
    }
    await listener.serve()
  }
}
