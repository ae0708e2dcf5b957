package import CampanileBase
import CampanileRPC
import NIOCore
import Synchronization

/// An authenticated credential with everything that its calls need, computed once.
package final class Credential: Sendable {
  /// A public identifier: `k_…` of an API key, `j_…` of a token, `c_…` of a certificate, `s_…` of a console session.
  let id: String
  let principal: Principal
  let scopes: [Scope]
  let rights: AccessRights
  /// The limits of the principal, shared by all its credentials.
  let share: CallerShare
  /// The members of a metadata object that identify the caller to a backend, as JSON without braces.
  let metadataMembers: [UInt8]
  /// The size of the members as the wire counts metadata.
  let metadataSizeBytes: Int
  /// Shared by all credentials that are revoked together, such as the tokens of one signing key.
  private let revocation: Revocation
  /// The credential with which this one ends; nil if it stands alone.
  let parent: Credential?
  private let expiry: Atomic<Int64>
  private let used = Atomic<Bool>(false)

  /// - Parameter expiresAtMs: `nil` for a credential that does not expire.
  init(
    id: String, principal: Principal, scopes: [Scope], expiresAtMs: Int64?, revocation: Revocation = Revocation(),
    services: [String], share: CallerShare, parent: Credential? = nil
  ) {
    self.id = id
    self.principal = principal
    self.scopes = scopes
    self.parent = parent
    self.share = share
    self.revocation = revocation
    rights = AccessRights(scopes, services: services)
    expiry = Atomic(expiresAtMs ?? .max)
    let scopes = scopes.map(\.description).joined(separator: " ")
    metadataMembers = PrincipalMetadata.members(
      principal: principal.name, scopes: scopes, device: principal.deviceID)
    metadataSizeBytes = PrincipalMetadata.sizeBytes(
      principal: principal.name, scopes: scopes, device: principal.deviceID)
  }

  convenience init(_ key: StoredApiKey, services: [String], share: CallerShare) {
    self.init(
      id: key.id, principal: key.principal, scopes: key.scopes, expiresAtMs: key.expiresAtMs,
      revocation: Revocation(isRevoked: key.revokedAtMs != nil), services: services, share: share)
  }

  var isRevoked: Bool { revocation.isRevoked }
  /// The time of expiry; nil if the credential does not expire.
  var expiresAtMs: Int64? {
    let own = expiry.load(ordering: .relaxed)
    let earliest = min(own, parent?.expiresAtMs ?? .max)
    return earliest == .max ? nil : earliest
  }
  func revoke() { revocation.revoke() }
  /// Changes the time of expiry.
  func expire(atMs: Int64) { expiry.store(atMs, ordering: .relaxed) }
  func isExpired(nowMs: Int64) -> Bool { nowMs >= expiry.load(ordering: .relaxed) }

  /// Records a use. Loads before it stores, so that the common case does not write to a cache line shared by all
  /// threads.
  @inline(__always)
  func markUsed() { if !used.load(ordering: .relaxed) { used.store(true, ordering: .relaxed) } }
  /// Returns whether the credential was used since the last call of this function.
  func takeUsed() -> Bool { used.exchange(false, ordering: .relaxed) }
  /// Restores a use that could not be stored, so that the next attempt stores it.
  func restoreUsed() { used.store(true, ordering: .relaxed) }

  /// Returns the reason to reject the credential; `nil` if it is valid. Only callers that presented the whole secret
  /// may see it.
  @inline(__always)
  func fault(nowMs: () -> Int64) -> RPCError? { ownFault(nowMs: nowMs) ?? parent?.ownFault(nowMs: nowMs) }

  /// A parent is a key, which has no parent itself.
  @inline(__always)
  private func ownFault(nowMs: () -> Int64) -> RPCError? {
    if isRevoked { return CredentialFault.revoked }
    let expiresAtMs = expiry.load(ordering: .relaxed)
    return expiresAtMs != .max && nowMs() >= expiresAtMs ? CredentialFault.expired : nil
  }
}

/// A flag for a revoked credential. A revocation is visible to every check that begins after it.
final class Revocation: Sendable {
  private let flag: Atomic<Bool>

  init(isRevoked: Bool = false) { flag = Atomic(isRevoked) }

  @inline(__always) var isRevoked: Bool { flag.load(ordering: .acquiring) }
  func revoke() { flag.store(true, ordering: .releasing) }
}

/// Authentication errors. None reveals whether another secret would be accepted.
package enum CredentialFault {
  package static let missing = fault("the method needs a credential", "CREDENTIAL_MISSING")
  package static let invalid = fault("the credential is not valid", "CREDENTIAL_INVALID")
  static let expired = fault("the credential has expired", "CREDENTIAL_EXPIRED")
  static let revoked = fault("the credential was revoked", "CREDENTIAL_REVOKED")

  private static func fault(_ message: String, _ reason: String) -> RPCError {
    RPCError(.unauthenticated, message, reason: reason, processed: false)
  }
}

/// The metadata with which the gateway passes on the caller's identity and address to a backend.
enum PrincipalMetadata {
  static let requestIDKey = Metadata.requestIDKey
  /// The IP address of the gateway's own caller.
  static let addressKey = Principal.addressMetadataKey

  /// Returns `"campanile-principal":"…"`, followed by the scopes and the device if there are any. None of them holds
  /// characters that JSON escapes.
  static func members(principal: String, scopes: String, device: String = "") -> [UInt8] {
    var text = "\"\(Principal.metadataKey)\":\"\(principal)\""
    if !scopes.isEmpty { text += ",\"\(Principal.scopesMetadataKey)\":\"\(scopes)\"" }
    if !device.isEmpty { text += ",\"\(Principal.deviceMetadataKey)\":\"\(device)\"" }
    return Array(text.utf8)
  }

  static func sizeBytes(principal: String, scopes: String, device: String = "") -> Int {
    Principal.metadataKey.utf8.count + principal.utf8.count
      + (scopes.isEmpty ? 0 : Principal.scopesMetadataKey.utf8.count + scopes.utf8.count)
      + (device.isEmpty ? 0 : Principal.deviceMetadataKey.utf8.count + device.utf8.count)
  }

  /// Returns `members` followed by the address; an empty address adds nothing. Addresses hold no characters that JSON
  /// escapes.
  static func members(_ members: [UInt8], address: String) -> [UInt8] {
    guard !address.isEmpty else { return members }
    return members + (members.isEmpty ? [] : [UInt8(ascii: ",")]) + Array("\"\(addressKey)\":\"\(address)\"".utf8)
  }

  static func sizeBytes(address: String) -> Int { address.isEmpty ? 0 : addressKey.utf8.count + address.utf8.count }
}
