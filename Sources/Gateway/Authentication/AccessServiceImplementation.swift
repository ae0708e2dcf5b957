import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileStore

/// Implements `AccessService`. Admission has already checked that the caller has the scope `admin`.
struct AccessServiceImplementation: AccessServiceProtocol {
  let keys: KeyStore

  func createApiKey(_ request: CreateApiKeyRequest, context: CallContext) async throws -> CreateApiKeyResponse {
    let principal = try ApiKeyRequest.principal(request.principal)
    let scopes = try ApiKeyRequest.scopes(request.scopes, services: keys.ring.services)
    let description = try ApiKeyRequest.description(request.description)
    let expiresAtMs = try ApiKeyRequest.expiry(
      request.expireTime?.millisecondsSince1970, nowMs: keys.ring.nowMs())
    let made = try await Self.mapping {
      try await keys.create(principal: principal, scopes: scopes, description: description, expiresAtMs: expiresAtMs)
    }
    return CreateApiKeyResponse(apiKey: ApiKey(made.key), secret: made.secret.text)
  }

  func listApiKeys(_ request: ListApiKeysRequest, context: CallContext) async throws -> ListApiKeysResponse {
    try request.checkConstraints()
    let count = ApiKeyRequest.pageSize(request.pageSize)
    let cursor = try ApiKeyPageToken.decode(request.pageToken, includingRevoked: request.includeRevoked)
    // Reads one more key than the page holds, to find out whether there is a next page.
    let found = try await Self.mapping {
      try keys.repository.list(after: cursor, count: count + 1, includingRevoked: request.includeRevoked)
    }
    var response = ListApiKeysResponse(apiKeys: found.prefix(count).map { ApiKey($0) })
    if found.count > count {
      response.nextPageToken = ApiKeyPageToken.encode(found[count - 1], includingRevoked: request.includeRevoked)
    }
    return response
  }

  func revokeApiKey(_ request: RevokeApiKeyRequest, context: CallContext) async throws -> RevokeApiKeyResponse {
    let id = try ApiKeyRequest.keyID(request.keyId)
    guard let revoked = try await Self.mapping({ try await keys.revoke(id) }) else {
      throw Self.missing(id)
    }
    return RevokeApiKeyResponse(apiKey: ApiKey(revoked))
  }

  func rotateApiKey(_ request: RotateApiKeyRequest, context: CallContext) async throws -> RotateApiKeyResponse {
    let id = try ApiKeyRequest.keyID(request.keyId)
    let overlapMs = try ApiKeyRequest.overlapMs(request.overlap)
    let expiresAtMs = try ApiKeyRequest.expiry(
      request.expireTime?.millisecondsSince1970, nowMs: keys.ring.nowMs())
    let made = try await Self.mapping {
      try await keys.rotate(id, overlapMs: overlapMs, expiresAtMs: expiresAtMs)
    }
    guard let made else { throw Self.missing(id) }
    return RotateApiKeyResponse(
      apiKey: ApiKey(made.key), secret: made.secret.text, replacedApiKey: ApiKey(made.replaced))
  }

  private static func missing(_ id: String) -> RPCError {
    RPCError(.notFound, "there is no key \(id)", reason: "KEY_NOT_FOUND", errorMetadata: ["id": id])
  }

  /// Maps a database failure to an RPC error without its text, which only the operator may see.
  private static func mapping<T>(_ body: () async throws -> T) async throws -> T {
    do { return try await body() } catch let error as StoreError {
      switch error.code {
      case .overloaded, .busy:
        throw RPCError(
          .unavailable, "the key database is overloaded", reason: "STORE_OVERLOADED", retryAfterMs: 1000)
      default: throw RPCError(.unavailable, "the key database is unavailable", reason: "STORE_UNAVAILABLE")
      }
    }
  }
}

extension ApiKey {
  /// Creates the public view of a key, without its digest.
  init(_ key: StoredApiKey) {
    self.init()
    id = key.id
    principal = key.principal.name
    scopes = key.scopes.map(\.description)
    description = key.description
    createTime = ProtoTimestamp(millisecondsSince1970: key.createdAtMs)
    expireTime = key.expiresAtMs.map { ProtoTimestamp(millisecondsSince1970: $0) }
    revokeTime = key.revokedAtMs.map { ProtoTimestamp(millisecondsSince1970: $0) }
    lastUseTime = key.lastUsedAtMs.map { ProtoTimestamp(millisecondsSince1970: $0) }
  }
}
