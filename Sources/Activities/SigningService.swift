import APNs
public import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
public import CampanileRPC
import CampanileService
import CampanileStore

/// Implements `campanile.activities.v1.SigningService`: manages the keys that sign pushes, and issues provider tokens
/// to other senders.
public struct SigningService: SigningServiceProtocol {
  let delivery: RunningDelivery
  let limits: ActivitiesLimits

  public func signProviderToken(
    _ request: SignProviderTokenRequest, context: CallContext
  ) async throws -> SignProviderTokenResponse {
    try context.requireAdmin()
    try await refresh()
    let id = try find(keyID: request.keyId, teamID: request.teamId)
    let issued = try await RPCError.convertingStoreErrors { try await delivery.tokens.token(of: id) }
    var response = SignProviderTokenResponse(
      token: issued.token, issueTime: ProtoTimestamp(millisecondsSince1970: issued.issuedAtMs))
    let nowMs = delivery.delivery.environment.nowMs()
    response.renewTime = ProtoTimestamp(millisecondsSince1970: nowMs + delivery.tokens.renewsInMs(id))
    return response
  }

  public func putSigningKey(
    _ request: PutSigningKeyRequest, context: CallContext
  ) async throws -> PutSigningKeyResponse {
    try context.requireAdmin()
    var violations = Violations()
    request.validate(into: &violations)
    var description = request.key ?? SigningKey()
    description.tokenTime = nil
    Self.check(description, &violations)
    let pem = Array(request.privateKeyPem.utf8)
    var key: ES256PrivateKey?
    do {
      key = try ES256PrivateKey(pem: pem, source: "privateKeyPem")
    } catch {
      violations.add("privateKeyPem", error.message, .signingKeyInvalid)
    }
    try violations.check()
    guard let key else { throw RPCError(.internalError, "the private key is missing") }
    let entry = SigningKeys.Entry(description: description, key: key)
    try await delivery.addedKeys.put(entry)
    return PutSigningKeyResponse(key: withTokenTime(description, entry.id))
  }

  public func listSigningKeys(
    _ request: ListSigningKeysRequest, context: CallContext
  ) async throws -> ListSigningKeysResponse {
    try context.requireAdmin()
    try await refresh()
    let query = try PositionQuery(
      user: "", pageSize: request.pageSize, pageToken: request.pageToken, scope: ["signing-keys"], parts: 2,
      limits: limits)
    var entries = delivery.delivery.keys.all
    if query.position.count == 2 {
      let last = SigningKeyID(teamID: query.position[0], keyID: query.position[1])
      entries.removeAll { $0.id <= last }
    }
    let (page, nextPageToken) = query.page(entries) { [$0.id.teamID, $0.id.keyID] }
    return ListSigningKeysResponse(
      keys: page.map { withTokenTime($0.description, $0.id) }, nextPageToken: nextPageToken)
  }

  private func withTokenTime(_ description: SigningKey, _ id: SigningKeyID) -> SigningKey {
    var key = description
    key.tokenTime = delivery.tokens.issuedAtMs(id).map { ProtoTimestamp(millisecondsSince1970: $0) }
    return key
  }

  public func revokeSigningKey(
    _ request: RevokeSigningKeyRequest, context: CallContext
  ) async throws -> RevokeSigningKeyResponse {
    try context.requireAdmin()
    try await refresh()
    let named = SigningKeyID(teamID: request.teamId, keyID: request.keyId)
    if delivery.delivery.keys.isRevoked(named) { return RevokeSigningKeyResponse() }
    let id = try find(keyID: request.keyId, teamID: request.teamId)
    try await delivery.addedKeys.revoke(id, atMs: delivery.delivery.environment.nowMs())
    return RevokeSigningKeyResponse()
  }

  /// Reads the keys and tokens that other processes have stored.
  private func refresh() async throws {
    try await RPCError.convertingStoreErrors {
      try await delivery.addedKeys.refresh()
      try await delivery.tokens.refresh()
    }
  }

  /// Returns the key with these ids. Throws NOT_FOUND, or INVALID_ARGUMENT if several teams have a key with this id.
  private func find(keyID: String, teamID: String) throws(RPCError) -> SigningKeyID {
    let ids = delivery.delivery.keys.ids(keyID: keyID).filter { teamID.isEmpty || $0.teamID == teamID }
    guard let id = ids.first else {
      throw RPCError.missing("signing key", keyID, field: "keyId", .signingKeyNotFound)
    }
    guard ids.count == 1 else {
      throw RPCError.invalidField("teamId", "must be given: several teams have a key with this id", reason: "REQUIRED")
    }
    return id
  }

  /// Checks the patterns, whose optional `.*` at the end a constraint cannot express.
  private static func check(_ key: SigningKey, _ violations: inout Violations) {
    for (patterns, field) in [(key.environments, "key.environments"), (key.apps, "key.apps")] {
      for (index, pattern) in patterns.enumerated() {
        let name = pattern.hasSuffix(".*") ? String(pattern.dropLast(2)) : pattern
        if !Topic.isBundleID(name) {
          violations.add("\(field)[\(index)]", "must be letters, digits, dots and hyphens", .idInvalid)
        }
      }
    }
  }
}
