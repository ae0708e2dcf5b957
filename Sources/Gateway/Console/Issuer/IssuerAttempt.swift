import CampanileBase
import CampanileCrypto
import Foundation

/// One sign-in at the issuer. Its values are derived from a secret that the browser keeps in a cookie, so that the
/// gateway stores nothing: another gateway process can finish it.
struct IssuerAttempt: Sendable {
  /// Links the response to this browser (RFC 6749 section 10.12).
  let state: String
  /// Links the ID token to this attempt (OpenID Connect Core section 3.1.2.1).
  let nonce: String
  /// The code verifier of PKCE (RFC 7636 section 4.1): 43 characters.
  let verifier: String
  /// Its SHA-256, which the first request sends (RFC 7636 section 4.2).
  let challenge: String

  init(_ secret: CallerSecret) throws(CryptoError) {
    func derive(_ purpose: String) throws(CryptoError) -> String {
      Base64URL.encode(try HMACSHA256.code(Array(purpose.utf8), key: Array(secret.text.utf8)).bytes)
    }
    state = try derive("state")
    nonce = try derive("nonce")
    verifier = try derive("verifier")
    challenge = Base64URL.encode(try SHA256.digest(verifier).bytes)
  }

  /// Returns the URL of the issuer's page (RFC 6749 section 4.1.1).
  func location(at endpoint: String, _ configuration: IssuerConfiguration) -> String {
    let query = FormEncoding.text([
      ("response_type", "code"), ("client_id", configuration.clientID), ("redirect_uri", configuration.redirectURI),
      ("scope", (["openid"] + configuration.scopes).joined(separator: " ")), ("state", state), ("nonce", nonce),
      ("code_challenge", challenge), ("code_challenge_method", "S256"),
    ])
    return "\(endpoint)\(endpoint.contains("?") ? "&" : "?")\(query)"
  }

  /// Returns the request that exchanges a code for tokens (RFC 6749 sections 2.3.1 and 4.1.3).
  func tokenRequest(code: String, at endpoint: String, _ configuration: IssuerConfiguration) -> IssuerRequest {
    var fields = [
      ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", configuration.redirectURI),
      ("code_verifier", verifier),
    ]
    var request = IssuerRequest(url: endpoint)
    if let clientSecret = configuration.clientSecret {
      let pair = "\(FormEncoding.text(configuration.clientID)):\(FormEncoding.text(clientSecret))"
      request.authorization = "Basic \(Data(pair.utf8).base64EncodedString())"
    } else {
      fields.append(("client_id", configuration.clientID))
    }
    request.form = FormEncoding.text(fields)
    return request
  }
}

/// Writes the format `application/x-www-form-urlencoded`.
enum FormEncoding {
  private static let unreserved = CharacterSet(
    charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

  static func text(_ value: String) -> String {
    value.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
  }

  static func text(_ fields: [(String, String)]) -> String {
    fields.map { "\($0)=\(text($1))" }.joined(separator: "&")
  }
}
