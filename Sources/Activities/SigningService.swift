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
    let id = SigningKeyID(teamID: description.teamId, keyID: description.keyId)
    guard !delivery.delivery.keys.isRevoked(id) else {
      throw RPCError(.failedPrecondition, "the key was revoked", .signingKeyRevoked, errorMetadata: ["keyId": id.keyID])
    }
    // Checked before the files are written, because all keys in the directory are loaded again about once a minute.
    guard delivery.delivery.keys.hasRoom(for: id) else { throw Self.keysExhausted }
    let files = SigningKeyFiles(directory: delivery.delivery.configuration.addedKeysDirectory, teamID: nil)
    do {
      // Stored as PKCS#8, whatever its original form.
      try files.write(description, pem: key.privatePEM())
    } catch {
      throw RPCError(.unavailable, "the key could not be stored", reason: "SIGNING_KEY_NOT_KEPT", retryAfterMs: 5_000)
    }
    guard delivery.delivery.keys.add(.init(description: description, key: key)) else {
      // A concurrent call added the last key within the limit, or revoked this one.
      files.remove(id.keyID)
      throw Self.keysExhausted
    }
    // Wake the dispatcher: pushes may be waiting for this key.
    delivery.delivery.notifier.signal.notify()
    return PutSigningKeyResponse(key: withTokenTime(description, id))
  }

  public func listSigningKeys(
    _ request: ListSigningKeysRequest, context: CallContext
  ) async throws -> ListSigningKeysResponse {
    try context.requireAdmin()
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
    let named = SigningKeyID(teamID: request.teamId, keyID: request.keyId)
    if delivery.delivery.keys.isRevoked(named) { return RevokeSigningKeyResponse() }
    let id = try find(keyID: request.keyId, teamID: request.teamId)
    let nowMs = delivery.delivery.environment.nowMs()
    _ = try await RPCError.convertingStoreErrors {
      try await delivery.store.write { transaction in
        try transaction.execute(
          "INSERT INTO revoked_keys (team_id, key_id, revoked_at_ms) VALUES ($1, $2, $3) ON CONFLICT (team_id, key_id) DO NOTHING",
          [.text(id.teamID), .text(id.keyID), .integer(nowMs)])
        try transaction.execute(
          "DELETE FROM provider_tokens WHERE team_id = $1 AND key_id = $2", [.text(id.teamID), .text(id.keyID)])
      }
    }
    delivery.delivery.keys.revoke(id)
    SigningKeyFiles(directory: delivery.delivery.configuration.addedKeysDirectory, teamID: nil).remove(id.keyID)
    return RevokeSigningKeyResponse()
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

  private static var keysExhausted: RPCError {
    .exhausted(
      "there are too many signing keys", .init(rawValue: "SIGNING_KEYS_EXHAUSTED"), limit: SigningKeys.countMax)
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
