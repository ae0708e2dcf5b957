import Foundation

/// The endpoints that an issuer publishes (OpenID Connect Discovery section 3).
struct IssuerMetadata: Sendable, Hashable {
  /// The page at which users sign in.
  let authorizationEndpoint: String
  let tokenEndpoint: String

  private struct Document: Decodable {
    var issuer: String
    var authorization_endpoint: String
    var token_endpoint: String
    var code_challenge_methods_supported: [String]?
  }

  /// Returns the URL of an issuer's document (OpenID Connect Discovery section 4).
  static func url(issuer: String) -> String {
    (issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer) + "/.well-known/openid-configuration"
  }

  /// Reads a document; nil if it is another issuer's, has no safe endpoints, or excludes PKCE with SHA-256.
  init?(_ bytes: [UInt8], issuer: String) {
    guard let document = try? JSONDecoder().decode(Document.self, from: Data(bytes)), document.issuer == issuer,
      document.code_challenge_methods_supported?.contains("S256") ?? true,
      IssuerConfiguration.isSafe(url: document.authorization_endpoint),
      IssuerConfiguration.isSafe(url: document.token_endpoint)
    else { return nil }
    authorizationEndpoint = document.authorization_endpoint
    tokenEndpoint = document.token_endpoint
  }
}

/// The response of the token endpoint (OpenID Connect Core section 3.1.3.3).
struct IssuerTokens: Sendable, Decodable {
  var idToken: String
  var accessToken: String?

  enum CodingKeys: String, CodingKey {
    case idToken = "id_token"
    case accessToken = "access_token"
  }

  init(idToken: String, accessToken: String? = nil) {
    self.idToken = idToken
    self.accessToken = accessToken
  }

  /// Reads a response; nil if it has no ID token.
  init?(_ bytes: [UInt8]) {
    guard let tokens = try? JSONDecoder().decode(Self.self, from: Data(bytes)) else { return nil }
    self = tokens
  }
}
