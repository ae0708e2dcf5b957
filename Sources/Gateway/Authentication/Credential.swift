import CampanileRPC
import NIOCore
import Synchronization

/// A credential that is ready to be used: what the calls made with it need, worked out once.
final class Credential: Sendable {
  /// Public: `k_…` of an API key, `j_…` of a token, `c_…` of a certificate.
  let id: String
  let principal: Principal
  let rights: AccessRights
  /// What the principal may use, over all its credentials.
  let share: CallerShare
  /// The members of a metadata object that tell a backend who calls, as JSON without braces.
  let metadataMembers: [UInt8]
  /// The bytes that these add to the metadata's size as the wire counts it.
  let metadataSizeBytes: Int
  /// Shared by all credentials that end together: the tokens of one signing key.
  private let revocation: Revocation
  private let expiry: Atomic<Int64>
  private let used = Atomic<Bool>(false)

  /// - Parameter expiresAtMs: `nil` for a credential that does not end by itself.
  init(
    id: String, principal: Principal, scopes: [Scope], expiresAtMs: Int64?, revocation: Revocation = Revocation(),
    services: [String], share: CallerShare
  ) {
    self.id = id
    self.principal = principal
    self.share = share
    self.revocation = revocation
    rights = AccessRights(scopes, services: services)
    expiry = Atomic(expiresAtMs ?? .max)
    let scopes = scopes.map(\.description).joined(separator: " ")
    metadataMembers = PrincipalMetadata.members(principal: principal.name, scopes: scopes)
    metadataSizeBytes = PrincipalMetadata.sizeBytes(principal: principal.name, scopes: scopes)
  }

  convenience init(_ key: StoredApiKey, services: [String], share: CallerShare) {
    self.init(
      id: key.id, principal: key.principal, scopes: key.scopes, expiresAtMs: key.expiresAtMs,
      revocation: Revocation(isRevoked: key.revokedAtMs != nil), services: services, share: share)
  }

  var isRevoked: Bool { revocation.isRevoked }
  func revoke() { revocation.revoke() }
  /// Lets the credential end at another time than it was made for.
  func expire(atMs: Int64) { expiry.store(atMs, ordering: .relaxed) }
  func isExpired(nowMs: Int64) -> Bool { nowMs >= expiry.load(ordering: .relaxed) }

  /// Notes that the credential was used. Reading first keeps the common case from writing to memory that all threads share.
  @inline(__always)
  func markUsed() { if !used.load(ordering: .relaxed) { used.store(true, ordering: .relaxed) } }
  /// Whether the credential was used since this was asked last.
  func takeUsed() -> Bool { used.exchange(false, ordering: .relaxed) }
  /// The use could not be stored and is to be told again.
  func restoreUsed() { used.store(true, ordering: .relaxed) }

  /// What keeps the credential from being used now, or `nil`. Told only to who presented the whole secret.
  @inline(__always)
  func fault(nowMs: () -> Int64) -> RPCError? {
    if isRevoked { return CredentialFault.revoked }
    let expiresAtMs = expiry.load(ordering: .relaxed)
    if expiresAtMs != .max, nowMs() >= expiresAtMs { return CredentialFault.expired }
    return nil
  }
}

/// Whether something was taken back. Counts for every look that begins after it.
final class Revocation: Sendable {
  private let flag: Atomic<Bool>

  init(isRevoked: Bool = false) { flag = Atomic(isRevoked) }

  @inline(__always) var isRevoked: Bool { flag.load(ordering: .acquiring) }
  func revoke() { flag.store(true, ordering: .releasing) }
}

/// The refusals of credentials. None tells whether another secret would have done better.
enum CredentialFault {
  static let missing = fault("the method needs a credential", "CREDENTIAL_MISSING")
  static let invalid = fault("the credential is not valid", "CREDENTIAL_INVALID")
  static let expired = fault("the credential has expired", "CREDENTIAL_EXPIRED")
  static let revoked = fault("the credential was revoked", "CREDENTIAL_REVOKED")

  private static func fault(_ message: String, _ reason: String) -> RPCError {
    RPCError(.unauthenticated, message, reason: reason, processed: false)
  }
}

/// How the gateway tells a backend who calls, and from where.
enum PrincipalMetadata {
  static let requestIDKey = Metadata.requestIDKey
  /// The IP address of the gateway's own caller.
  static let addressKey = "campanile-remote-address"

  /// `"campanile-principal":"…"`, and the scopes where there are any. Principals and scopes hold no characters that JSON escapes.
  static func members(principal: String, scopes: String) -> [UInt8] {
    var text = "\"\(Principal.metadataKey)\":\"\(principal)\""
    if !scopes.isEmpty { text += ",\"\(Principal.scopesMetadataKey)\":\"\(scopes)\"" }
    return Array(text.utf8)
  }

  static func sizeBytes(principal: String, scopes: String) -> Int {
    Principal.metadataKey.utf8.count + principal.utf8.count
      + (scopes.isEmpty ? 0 : Principal.scopesMetadataKey.utf8.count + scopes.utf8.count)
  }

  /// `members` and the address behind them. An address holds no characters that JSON escapes; an empty one adds nothing.
  static func members(_ members: [UInt8], address: String) -> [UInt8] {
    guard !address.isEmpty else { return members }
    return members + (members.isEmpty ? [] : [UInt8(ascii: ",")]) + Array("\"\(addressKey)\":\"\(address)\"".utf8)
  }

  static func sizeBytes(address: String) -> Int { address.isEmpty ? 0 : addressKey.utf8.count + address.utf8.count }
}
