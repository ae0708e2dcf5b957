public import CampanileBase
import CampanileCrypto

/// Verifies the credentials that peers present.
public protocol HelloAuthenticator: Sendable {
  /// Verifies a token presented in `rpc.hello`. Called on an event loop; must not block.
  func authenticate(token: String) -> HelloDecision
  /// Verifies a token from a peer whose IP address is known, so that the number of wrong tokens per address can be
  /// limited.
  func authenticate(token: String, from host: String) -> HelloDecision
  /// Verifies the certificate of a mutual TLS client by the URIs among its subject alternative names (RFC 5280 section
  /// 4.2.1.6). Returns `nil` if they name no caller: the connection's calls then have no principal, as without a
  /// certificate.
  ///
  /// - Parameter expiresAtMs: The end of the certificate's validity, in milliseconds since 1970.
  func authenticate(certificateURIs: [String], expiresAtMs: Int64) -> HelloDecision?
  /// Verifies the credential in the metadata of one call, before the rest of a long frame is read. Returns `nil` if
  /// there is none.
  ///
  /// - Parameter remoteHost: The peer's address.
  func authenticate(metadata: Metadata, remoteHost: String) -> HelloDecision?
  /// Begins the exchange in which both ends prove that they know the internal token. Returns `nil` if the server has no
  /// token.
  ///
  /// - Parameter nonce: The client's nonce.
  func challenge(nonce: String) -> HelloChallenge?
  /// Whether a peer can present a token. If not, and without mutual TLS, no peer is treated as a stranger.
  var asksForCredentials: Bool { get }
}

extension HelloAuthenticator {
  public func authenticate(token: String, from host: String) -> HelloDecision { authenticate(token: token) }
  public func authenticate(certificateURIs: [String], expiresAtMs: Int64) -> HelloDecision? { nil }
  public func authenticate(metadata: Metadata, remoteHost: String) -> HelloDecision? { nil }
  public func challenge(nonce: String) -> HelloChallenge? { nil }
  public var asksForCredentials: Bool { true }
}

/// The outcome of verifying a credential.
public enum HelloDecision: Sendable {
  /// The suite's internal token: principals in metadata are trusted.
  case trusted
  /// A credential of one caller, used for every call of the connection that brings no other.
  case principal(Principal)
  /// The same, with an object for the dispatcher: `ServerCall.connectionCredential`.
  case credential(Principal, any AnyObject & Sendable)
  /// The error to send before the connection closes.
  case refused(RPCError)
}

/// Trusts peers that know the internal token, compared in constant time. Without a configured token, no peer is
/// trusted.
///
/// Each line is a token. All are accepted, and the first is the one to present. A token can thus be replaced while no
/// part of the suite presents a token that another part does not accept yet.
public struct InternalTokenAuthenticator: HelloAuthenticator {
  private let tokens: [[UInt8]]
  private let randomBytes: @Sendable () -> [UInt8]?

  public init(token: String?) { self.init(token: token, randomBytes: InternalTokenProof.randomBytes) }

  /// - Parameter randomBytes: The source of randomness for nonces.
  package init(token: String?, randomBytes: @escaping @Sendable () -> [UInt8]?) {
    tokens = (token ?? "").split(whereSeparator: \.isNewline).map { Array($0.utf8) }
    self.randomBytes = randomBytes
  }

  public func challenge(nonce: String) -> HelloChallenge? {
    guard !tokens.isEmpty, let bytes = randomBytes() else { return nil }
    return HelloChallenge(
      tokens: tokens.map { String(decoding: $0, as: UTF8.self) }, clientNonce: nonce,
      serverNonce: InternalTokenProof.nonce(bytes))
  }

  public var asksForCredentials: Bool { !tokens.isEmpty }

  /// Returns the token to present, of those that are configured.
  public static func presented(_ configured: String) -> String {
    configured.split(whereSeparator: \.isNewline).first.map(String.init) ?? configured
  }

  public func authenticate(token presented: String) -> HelloDecision {
    let presented = Array(presented.utf8)
    var isKnown = false
    for token in tokens { isKnown = ConstantTime.equal(token, presented) || isKnown }
    return isKnown ? .trusted : .refused(Self.wrongToken)
  }

  static let wrongToken = RPCError(
    .unauthenticated, "the token is invalid", reason: "TOKEN_INVALID", processed: false)
}
