import CampanileBase
import Foundation

/// The registration of the console at the token issuer, as a client of OpenID Connect.
public struct IssuerConfiguration: Sendable, Hashable {
  public var clientID: String
  /// Nil for a public client, which PKCE alone protects.
  public var clientSecret: String?
  /// The public URL of the console without a trailing slash, such as `https://push.example/console`.
  public var consoleURL: String
  /// Scopes to ask for in addition to `openid`. The access token grants those that it names.
  public var scopes: [String] = []

  public init(clientID: String, consoleURL: String) {
    self.clientID = clientID
    self.consoleURL = consoleURL
  }

  /// The URL to which the issuer sends the browser back. It must be registered there.
  public var redirectURI: String { consoleURL + "/issuer/callback" }

  /// Returns whether a URL is encrypted or stays on this machine, and can stand in a header.
  public static func isSafe(url text: String) -> Bool {
    guard text.utf8.count <= 2_048, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let url = URL(string: text),
      let host = url.host(percentEncoded: false), !host.isEmpty, url.fragment == nil, url.user == nil
    else { return false }
    return url.scheme == "https" || url.scheme == "http" && HostPort.isLoopback(host)
  }
}
