import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileStore

/// Implements `AccessService`. Admission has already checked the caller's scope.
struct AccessServiceImplementation: AccessServiceProtocol {
  let keys: KeyStore
  let audit: AuditLog
  let sessions: ConsoleSessions
  /// Returns the services behind the gateway.
  let services: @Sendable () -> [GatewayService]

  func getCaller(_ request: GetCallerRequest, context: CallContext) async throws -> GetCallerResponse {
    guard let call = LocalCall.current else { throw CredentialFault.missing }
    return GetCallerResponse(caller: CallerView.caller(of: call, sessions), services: services())
  }

  func createApiKey(_ request: CreateApiKeyRequest, context: CallContext) async throws -> CreateApiKeyResponse {
    try request.checkConstraints()
    let principal = try ApiKeyRequest.principal(request.principal, device: request.deviceId)
    let scopes = try ApiKeyRequest.scopes(request.scopes, services: keys.ring.services)
    let description = try ApiKeyRequest.description(request.description)
    let expiresAtMs = try ApiKeyRequest.expiry(
      request.expireTime?.millisecondsSince1970, nowMs: keys.ring.nowMs())
    let idempotency = try IdempotentKeyRequest(request, id: \.requestId, context, nowMs: keys.ring.nowMs()) { made, _ in
      CreateApiKeyResponse(apiKey: ApiKey(made))
    }
    do {
      let made = try await Self.mapping {
        try await keys.create(
          principal: principal, scopes: scopes, description: description, expiresAtMs: expiresAtMs, idempotency)
      }
      await audit.record(.keyCreated, subject: made.key.id)
      return CreateApiKeyResponse(apiKey: ApiKey(made.key), secret: made.secret.text)
    } catch let repeated as IdempotentKeyRequest.Repeated {
      return try Self.response(repeated)
    }
  }

  func listApiKeys(_ request: ListApiKeysRequest, context: CallContext) async throws -> ListApiKeysResponse {
    try request.checkConstraints()
    let count = ApiKeyRequest.pageSize(request.pageSize)
    let kind = request.includeRevoked ? "ka" : "kc"
    let cursor = try PagePosition.decode(request.pageToken, kind: kind).map {
      ApiKeyRepository.Cursor(createdAtMs: $0.number, id: $0.id)
    }
    // Reads one more key than the page holds, to find out whether there is a next page.
    let found = try await Self.mapping {
      try await keys.repository.list(after: cursor, count: count + 1, includingRevoked: request.includeRevoked)
    }
    var response = ListApiKeysResponse(apiKeys: found.prefix(count).map { ApiKey($0) })
    if found.count > count {
      let last = found[count - 1]
      response.nextPageToken = PagePosition.encode(kind: kind, number: last.createdAtMs, id: last.id)
    }
    return response
  }

  func revokeApiKey(_ request: RevokeApiKeyRequest, context: CallContext) async throws -> RevokeApiKeyResponse {
    try request.checkConstraints()
    guard let revoked = try await Self.mapping({ try await keys.revoke(request.keyId) }) else {
      throw Self.missing(request.keyId)
    }
    await audit.record(.keyRevoked, subject: revoked.id)
    return RevokeApiKeyResponse(apiKey: ApiKey(revoked))
  }

  func rotateApiKey(_ request: RotateApiKeyRequest, context: CallContext) async throws -> RotateApiKeyResponse {
    try request.checkConstraints()
    let overlapMs = request.overlap?.milliseconds ?? ApiKeyLimits.overlapMsDefault
    let expiresAtMs = try ApiKeyRequest.expiry(
      request.expireTime?.millisecondsSince1970, nowMs: keys.ring.nowMs())
    let idempotency = try IdempotentKeyRequest(request, id: \.requestId, context, nowMs: keys.ring.nowMs()) {
      RotateApiKeyResponse(apiKey: ApiKey($0), replacedApiKey: $1.map { ApiKey($0) })
    }
    do {
      let made = try await Self.mapping {
        try await keys.rotate(request.keyId, overlapMs: overlapMs, expiresAtMs: expiresAtMs, idempotency)
      }
      guard let made else { throw Self.missing(request.keyId) }
      await audit.record(.keyRotated, subject: made.replaced.id)
      return RotateApiKeyResponse(
        apiKey: ApiKey(made.key), secret: made.secret.text, replacedApiKey: ApiKey(made.replaced))
    } catch let repeated as IdempotentKeyRequest.Repeated {
      return try Self.response(repeated)
    }
  }

  /// Returns the response to the first request, without its secret.
  private static func response<R: ProtoMessage>(_ repeated: IdempotentKeyRequest.Repeated) throws -> R {
    do throws(ProtoJSONError) { return try R(jsonUTF8: repeated.reply) } catch {
      throw RPCError(.dataLoss, "the stored response is damaged", reason: "STORE_DAMAGED")
    }
  }

  private static func missing(_ id: String) -> RPCError {
    RPCError(.notFound, "there is no key \(id)", reason: "KEY_NOT_FOUND", errorMetadata: ["id": id])
  }

  /// Maps a database failure to an RPC error without its text, which only the operator may see.
  static func mapping<T>(_ body: () async throws -> T) async throws -> T {
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
    deviceId = key.principal.deviceID
    scopes = key.scopes.map(\.description)
    description = key.description
    createTime = ProtoTimestamp(millisecondsSince1970: key.createdAtMs)
    expireTime = key.expiresAtMs.map { ProtoTimestamp(millisecondsSince1970: $0) }
    revokeTime = key.revokedAtMs.map { ProtoTimestamp(millisecondsSince1970: $0) }
    lastUseTime = key.lastUsedAtMs.map { ProtoTimestamp(millisecondsSince1970: $0) }
  }
}
