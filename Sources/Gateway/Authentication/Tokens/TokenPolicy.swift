import CampanileRPC

/// Whose tokens are believed, and for what.
public struct TokenPolicy: Sendable, Hashable {
  /// A JSON Web Key Set (RFC 7517 section 5); read again when it changes.
  public var keySetFile: String
  /// What `iss` must be.
  public var issuer: String
  /// What `aud` must name, one of these.
  public var audiences: [String]
  /// How far the issuer's clock may be off.
  public var leewayMs: Int64 = 30_000
  /// Whether the scope `admin` of a token counts. Else only API keys administer.
  public var allowsAdmin = false
  /// Tokens that are remembered as checked, so that each is checked once.
  public var checkedTokensMax = 10_000

  public init(keySetFile: String, issuer: String, audiences: [String]) {
    self.keySetFile = keySetFile
    self.issuer = issuer
    self.audiences = audiences
  }

  /// What a token is worth whose signature is right.
  struct Grant: Sendable, Hashable {
    var principal: Principal
    var scopes: [Scope]
    var expiresAtMs: Int64
  }

  /// Judges the claims (RFC 7519 section 4.1). The subject becomes the user; the end is that of the token with the leeway.
  ///
  /// - Parameter services: whose scopes are the suite's.
  func grant(_ claims: JSONWebToken.Claims, services: [String], nowMs: Int64) throws(TokenFault) -> Grant {
    guard claims.iss == issuer else { throw .issuerWrong }
    guard let audience = claims.aud?.all, audience.contains(where: audiences.contains) else { throw .audienceWrong }
    guard let exp = claims.exp, let endMs = Self.milliseconds(exp) else { throw .malformed }
    let expiresAtMs = endMs + leewayMs
    guard nowMs < expiresAtMs else { throw .expired }
    if let nbf = claims.nbf {
      guard let startMs = Self.milliseconds(nbf), startMs - leewayMs <= nowMs else { throw .notYetValid }
    }
    guard let subject = claims.sub, let principal = Principal("user/\(subject)") else { throw .subjectInvalid }
    return Grant(principal: principal, scopes: scopes(claims, services), expiresAtMs: expiresAtMs)
  }

  /// Scopes that are not this suite's are none of its business; but a token that has only such grants nothing, not everything.
  private func scopes(_ claims: JSONWebToken.Claims, _ services: [String]) -> [Scope] {
    guard let said = claims.scope ?? claims.scp else { return [] }
    let known = said.all.flatMap { $0.split(separator: " ") }.compactMap { Scope(String($0)) }
      .filter { $0.service.map(services.contains) ?? allowsAdmin }
    return known.isEmpty ? [Self.nothing].compactMap { $0 } : Array(known.prefix(ApiKeyLimits.scopesMax))
  }

  private static let nothing = Scope("unknown")

  private static func milliseconds(_ seconds: Double) -> Int64? {
    // Up to the year 9999.
    guard seconds.isFinite, (0...253_402_300_799).contains(seconds) else { return nil }
    return Int64(seconds * 1000)
  }
}
