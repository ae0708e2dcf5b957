import CampanileRPC

/// The tokens that are accepted, and the rights that they grant.
public struct TokenPolicy: Sendable, Hashable {
  /// The path of a JSON Web Key Set (RFC 7517 section 5), which is reloaded when it changes.
  public var keySetFile: String
  /// The required `iss`.
  public var issuer: String
  /// The accepted audiences; `aud` must name one of them.
  public var audiences: [String]
  /// The tolerated deviation of the issuer's clock.
  public var leewayMs: Int64 = 30_000
  /// The required `typ`; nil accepts `JWT`, `at+jwt` and none. `at+jwt` (RFC 9068) rejects the issuer's ID tokens.
  public var type: String?
  public static let accessTokenType = "at+jwt"
  /// A prefix of the subject, which separates an issuer's users from those with API keys: `user/<prefix><sub>`.
  public var subjectPrefix = ""
  /// Accepts the scope `admin` in tokens. Otherwise only API keys administer.
  public var allowsAdmin = false
  /// Maximum number of verified tokens in the cache.
  public var checkedTokensMax = 10_000

  public init(keySetFile: String, issuer: String, audiences: [String]) {
    self.keySetFile = keySetFile
    self.issuer = issuer
    self.audiences = audiences
  }

  /// The identity and the rights that a verified token grants.
  struct Grant: Sendable, Hashable {
    var principal: Principal
    var scopes: [Scope]
    var expiresAtMs: Int64
  }

  /// Validates the claims (RFC 7519 section 4.1). The subject becomes the user; the leeway extends the time of expiry.
  ///
  /// - Parameter services: The services whose scopes count.
  func grant(_ token: JSONWebToken, services: [String], nowMs: Int64) throws(TokenFault) -> Grant {
    if let type, token.header.type != type.lowercased() { throw .typeWrong }
    return try grant(token.claims, services: services, nowMs: nowMs)
  }

  func grant(_ claims: JSONWebToken.Claims, services: [String], nowMs: Int64) throws(TokenFault) -> Grant {
    guard claims.iss == issuer else { throw .issuerWrong }
    guard let audience = claims.aud?.all, audience.contains(where: audiences.contains) else { throw .audienceWrong }
    guard let exp = claims.exp, let endMs = Self.milliseconds(exp) else { throw .malformed }
    let expiresAtMs = endMs + leewayMs
    guard nowMs < expiresAtMs else { throw .expired }
    if let nbf = claims.nbf {
      guard let startMs = Self.milliseconds(nbf), startMs - leewayMs <= nowMs else { throw .notYetValid }
    }
    guard let subject = claims.sub, !subject.isEmpty, var principal = Principal("user/\(subjectPrefix)\(subject)")
    else {
      throw .subjectInvalid
    }
    if let device = claims.device {
      guard Principal.isDevice(device) else { throw .deviceInvalid }
      principal.deviceID = device
    }
    return Grant(principal: principal, scopes: scopes(claims, services), expiresAtMs: expiresAtMs)
  }

  /// Returns the token's scopes for this suite. A token that has only other scopes grants nothing, rather than
  /// everything.
  private func scopes(_ claims: JSONWebToken.Claims, _ services: [String]) -> [Scope] {
    guard let said = claims.scope ?? claims.scp else { return [] }
    let known = said.all.flatMap { $0.split(separator: " ") }.compactMap { Scope(String($0)) }
      .filter { $0.service.map(services.contains) ?? allowsAdmin }
    return known.isEmpty ? [Self.nothing].compactMap { $0 } : Array(known.prefix(Principal.scopesMax))
  }

  private static let nothing = Scope("unknown")

  private static func milliseconds(_ seconds: Double) -> Int64? {
    // Up to the year 9999.
    guard seconds.isFinite, (0...253_402_300_799).contains(seconds) else { return nil }
    return Int64(seconds * 1000)
  }
}
