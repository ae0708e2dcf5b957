/// Judges the token that a peer presents in `rpc.hello`.
public protocol HelloAuthenticator: Sendable {
  /// Called on an event loop; must not block.
  func authenticate(token: String) -> HelloDecision
  /// Judges the certificate of a client that mutual TLS let in, by the URIs among its alternative names (RFC 5280 section
  /// 4.2.1.6). `nil` where it names nobody: then calls of the connection have no principal, as without a certificate.
  func authenticate(certificateURIs: [String]) -> HelloDecision?
}

extension HelloAuthenticator {
  public func authenticate(certificateURIs: [String]) -> HelloDecision? { nil }
}

/// What a token in `rpc.hello` gives its connection.
public enum HelloDecision: Sendable {
  /// The suite's internal token: principals in metadata are believed.
  case trusted
  /// A credential of one caller, for every call of the connection that brings none of its own.
  case principal(Principal)
  /// The same, with what the dispatcher wants to know of it: `ServerCall.connectionCredential`.
  case credential(Principal, any AnyObject & Sendable)
  /// The error answered before the connection closes.
  case refused(RPCError)
}

/// Trusts whoever knows the internal token, compared in constant time. Without a token configured nobody is trusted.
///
/// Several lines are several tokens, all of which are believed; the first is the one to present. So a token is replaced without a
/// moment in which a part of the suite presents what another does not believe yet.
public struct InternalTokenAuthenticator: HelloAuthenticator {
  private let tokens: [[UInt8]]

  public init(token: String?) { tokens = (token ?? "").split(whereSeparator: \.isNewline).map { Array($0.utf8) } }

  /// The token to present of those that are configured.
  public static func presented(_ configured: String) -> String {
    configured.split(whereSeparator: \.isNewline).first.map(String.init) ?? configured
  }

  public func authenticate(token presented: String) -> HelloDecision {
    let presented = Array(presented.utf8)
    var isKnown = false
    for token in tokens {
      var difference: UInt8 = presented.count == token.count ? 0 : 1
      for index in token.indices { difference |= token[index] ^ (index < presented.count ? presented[index] : 0) }
      isKnown = difference == 0 || isKnown
    }
    return isKnown
      ? .trusted
      : .refused(
        RPCError(.unauthenticated, "the token is not this server's", reason: "TOKEN_INVALID", processed: false))
  }
}
