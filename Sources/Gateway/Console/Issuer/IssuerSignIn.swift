import CampanileAPI
package import CampanileBase
import CampanileCrypto
import CampanileRPC
import Logging
import Synchronization

/// Signs callers in with their account at the token issuer: the authorization code flow of OpenID Connect with PKCE.
///
/// Its result is a one-use link, with which the console's page opens the session as with any other.
package final class IssuerSignIn: Sendable {
  /// Requests to the issuer at the same time.
  static let exchangesMax = 32
  /// Time for which the issuer's endpoints are reused.
  static let metadataLifetimeMs: Int64 = 3_600_000
  /// Time for which the browser keeps the secret of a sign-in.
  package static let attemptS: Int64 = 600
  private static let codeBytesMax = 4_096

  private struct State {
    var metadata: IssuerMetadata?
    var metadataReadAtMs: Int64 = 0
    var exchanges = 0
  }

  package let issuer: String
  package let configuration: IssuerConfiguration
  private let tokens: TokenAuthority
  private let links: SignInLinks
  private let exchange: any IssuerExchanging
  private let nowMs: @Sendable () -> Int64
  private let logger: Logger
  private let state = Mutex(State())

  init(
    _ configuration: IssuerConfiguration, issuer: String, tokens: TokenAuthority, links: SignInLinks,
    exchange: any IssuerExchanging, nowMs: @escaping @Sendable () -> Int64, logger: Logger
  ) {
    self.configuration = configuration
    self.issuer = issuer
    self.tokens = tokens
    self.links = links
    self.exchange = exchange
    self.nowMs = nowMs
    self.logger = logger
  }

  /// Returns the issuer's page, and the secret that the browser keeps until it comes back.
  ///
  /// - Throws: UNAVAILABLE `ISSUER_UNAVAILABLE`, RESOURCE_EXHAUSTED `ISSUER_BUSY`.
  package func begin() async throws(RPCError) -> (location: String, secret: String) {
    let metadata = try await metadata()
    do throws(CryptoError) {
      let secret = try CallerSecret.random(.issuer)
      return (
        try IssuerAttempt(secret).location(at: metadata.authorizationEndpoint, configuration), secret.text
      )
    } catch { throw Self.cryptoFailed }
  }

  /// Returns the token of a one-use link for the caller that the issuer has identified.
  ///
  /// - Parameters:
  ///   - fields: The parameters of the URL to which the issuer sent the browser back.
  ///   - secret: What `begin` returned; nil if the browser has none.
  /// - Throws: FAILED_PRECONDITION `SIGN_IN_STATE_INVALID` if this browser has not begun the sign-in, or too long ago.
  ///   PERMISSION_DENIED `ISSUER_REFUSED` if the issuer or the user refused. UNAUTHENTICATED `ISSUER_TOKEN_INVALID`
  ///   for a token that proves nothing. UNAVAILABLE `ISSUER_UNAVAILABLE`, RESOURCE_EXHAUSTED `ISSUER_BUSY` or
  ///   `LINKS_EXHAUSTED`.
  package func finish(fields: [String: String], secret: String?) async throws(RPCError) -> String {
    // Some issuers refuse without the state that RFC 6749 section 4.1.2.1 requires. A refusal changes nothing.
    if fields["code"] == nil, let error = fields["error"] { throw refused(error) }
    guard let secret = secret.flatMap({ CallerSecret($0, .issuer) }), let attempt = try? IssuerAttempt(secret),
      ConstantTime.equal(Array((fields["state"] ?? "").utf8), Array(attempt.state.utf8))
    else {
      throw RPCError(
        .failedPrecondition, "this browser has not begun the sign-in, or more than ten minutes ago",
        reason: "SIGN_IN_STATE_INVALID", processed: false)
    }
    // RFC 9207: the response names its issuer, if the issuer supports that.
    guard fields["iss"] ?? issuer == issuer else { throw refused("another issuer has responded") }
    guard let code = fields["code"], !code.isEmpty, code.utf8.count <= Self.codeBytesMax else {
      throw refused("no code")
    }
    let metadata = try await metadata()
    let (status, body) = try await send(attempt.tokenRequest(code: code, at: metadata.tokenEndpoint, configuration))
    guard status < 500 else { throw unavailable("its token endpoint responds with \(status)") }
    guard status == 200 else { throw refused("the token endpoint responds with \(status)") }
    guard let response = IssuerTokens(body) else { throw tokenInvalid("no ID token") }
    let grant: TokenPolicy.Grant
    do throws(TokenFault) {
      grant = try tokens.identify(response, clientID: configuration.clientID, nonce: attempt.nonce)
    } catch { throw tokenInvalid("\(error)") }
    do {
      return try await links.make(ConsoleGrant(principal: grant.principal, scopes: grant.scopes, method: .issuer)).token
    } catch { throw error as? RPCError ?? Self.cryptoFailed }
  }

  private func metadata() async throws(RPCError) -> IssuerMetadata {
    let nowMs = nowMs()
    let known = state.withLock { nowMs - $0.metadataReadAtMs < Self.metadataLifetimeMs ? $0.metadata : nil }
    if let known { return known }
    let (status, body) = try await send(IssuerRequest(url: IssuerMetadata.url(issuer: issuer)))
    guard status == 200 else { throw unavailable("its configuration responds with \(status)") }
    guard let metadata = IssuerMetadata(body, issuer: issuer) else {
      throw unavailable("its configuration is another issuer's, or has no safe endpoints with PKCE")
    }
    state.withLock { ($0.metadata, $0.metadataReadAtMs) = (metadata, nowMs) }
    return metadata
  }

  private func send(_ request: IssuerRequest) async throws(RPCError) -> (status: Int, body: [UInt8]) {
    let hasPlace = state.withLock { state in
      guard state.exchanges < Self.exchangesMax else { return false }
      state.exchanges += 1
      return true
    }
    guard hasPlace else {
      throw RPCError(
        .resourceExhausted, "too many sign-ins wait for the issuer", reason: "ISSUER_BUSY", retryAfterMs: 1_000,
        processed: false)
    }
    defer { state.withLock { $0.exchanges -= 1 } }
    do { return try await exchange.send(request) } catch { throw unavailable("\(error)") }
  }

  // MARK: failures; only the log has the details

  private func unavailable(_ detail: String) -> RPCError {
    logger.warning("the token issuer cannot be used", metadata: ["reason": "\(detail)"])
    return RPCError(
      .unavailable, "the token issuer does not respond as it should", reason: "ISSUER_UNAVAILABLE",
      retryAfterMs: 5_000, processed: false)
  }

  private func refused(_ detail: String) -> RPCError {
    logger.info("the token issuer refused a sign-in", metadata: ["reason": "\(detail.prefix(200))"])
    return RPCError(
      .permissionDenied, "the token issuer refused the sign-in", reason: "ISSUER_REFUSED", processed: false)
  }

  private func tokenInvalid(_ detail: String) -> RPCError {
    logger.warning("the token issuer's ID token is invalid", metadata: ["reason": "\(detail)"])
    return RPCError(
      .unauthenticated, "the token issuer's response identifies nobody", reason: "ISSUER_TOKEN_INVALID",
      processed: false)
  }

  private static let cryptoFailed = RPCError(
    .internalError, "the system has no random bytes", reason: "RANDOM_UNAVAILABLE")
}
