public import CampanileBase

/// A secret that authenticates calls.
public struct Credential: Sendable, Hashable {
  /// The form in which a credential is sent.
  public enum Scheme: String, Sendable, Hashable, CaseIterable {
    /// An API key or an issuer's token, in `Authorization`.
    case bearer
    /// The session of a lodge member, in `attendance-session`.
    case attendanceSession
  }

  public var scheme: Scheme
  public var secret: String
  /// The secret with which the credential is renewed; empty if there is none.
  public var renewalSecret: String
  /// The expiry in milliseconds since 1970; `nil` if it is unknown.
  public var expiresAtMs: Int64?

  public init(_ secret: String, scheme: Scheme = .bearer, renewalSecret: String = "", expiresAtMs: Int64? = nil) {
    self.scheme = scheme
    self.secret = secret
    self.renewalSecret = renewalSecret
    self.expiresAtMs = expiresAtMs
  }
}

extension Credential: CustomStringConvertible {
  /// A text without secrets, for logs.
  public var description: String { "Credential(\(scheme.rawValue))" }
}

extension Credential: CustomReflectable {
  public var customMirror: Mirror { Mirror(self, children: ["scheme": scheme.rawValue]) }
}

/// Provides the credentials of calls.
///
/// An error of these functions is the error of the call. UNAVAILABLE means that the store may be readable later.
public protocol CredentialSource: Sendable {
  /// Returns the credential of the next attempt; `nil` makes it without one.
  func credential() async throws(RPCError) -> Credential?

  /// Returns another credential after the gateway has refused one as UNAUTHENTICATED; `nil` if there is none.
  func replacement(for refused: Credential) async throws(RPCError) -> Credential?
}

/// No credential: public methods only.
public struct NoCredentials: CredentialSource {
  public init() {}
  public func credential() async throws(RPCError) -> Credential? { nil }
  public func replacement(for refused: Credential) async throws(RPCError) -> Credential? { nil }
}

/// A credential that never changes, such as an API key of a command-line tool.
public struct FixedCredential: CredentialSource {
  private let fixed: Credential

  public init(_ credential: Credential) { fixed = credential }
  /// Creates a source with an API key (`cmp_…`).
  public init(key: String) { fixed = Credential(key) }

  public func credential() async throws(RPCError) -> Credential? { fixed }
  public func replacement(for refused: Credential) async throws(RPCError) -> Credential? { nil }
}
