import CampanileRPC
import NIOCore
import Synchronization

/// A key that is ready to be used: what the calls made with it need, worked out once.
final class KeyEntry: Sendable {
  let id: String
  let principal: Principal
  let rights: AccessRights
  let expiresAtMs: Int64?
  /// The members of a metadata object that tell a backend who calls, as JSON without braces.
  let metadataMembers: [UInt8]
  /// The bytes that these add to the metadata's size as the wire counts it.
  let metadataSizeBytes: Int
  private let revoked: Atomic<Bool>
  private let used = Atomic<Bool>(false)

  init(_ key: StoredApiKey, services: [String]) {
    id = key.id
    principal = key.principal
    rights = AccessRights(key.scopes, services: services)
    expiresAtMs = key.expiresAtMs
    let scopes = key.scopes.map(\.description).joined(separator: " ")
    metadataMembers = PrincipalMetadata.members(principal: key.principal.name, scopes: scopes)
    metadataSizeBytes = PrincipalMetadata.sizeBytes(principal: key.principal.name, scopes: scopes)
    revoked = Atomic(key.revokedAtMs != nil)
  }

  var isRevoked: Bool { revoked.load(ordering: .acquiring) }
  func revoke() { revoked.store(true, ordering: .releasing) }

  /// Notes that the key was used. Reading first keeps the common case from writing to memory that all threads share.
  @inline(__always)
  func markUsed() { if !used.load(ordering: .relaxed) { used.store(true, ordering: .relaxed) } }
  /// Whether the key was used since this was asked last.
  func takeUsed() -> Bool { used.exchange(false, ordering: .relaxed) }
  /// The use could not be stored and is to be told again.
  func restoreUsed() { used.store(true, ordering: .relaxed) }

  /// What keeps the key from being used now, or `nil`. Told only to who presented the whole secret.
  @inline(__always)
  func fault(nowMs: () -> Int64) -> RPCError? {
    if isRevoked { return CredentialFault.revoked }
    if let expiresAtMs, nowMs() >= expiresAtMs { return CredentialFault.expired }
    return nil
  }
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

/// How the gateway tells a backend who calls.
enum PrincipalMetadata {
  static let requestIDKey = Metadata.requestIDKey

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
}
