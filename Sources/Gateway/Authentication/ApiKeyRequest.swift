import CampanileCodec
import CampanileCrypto
import CampanileRPC

/// Checks what callers of `AccessService` send. Each violation names its field.
enum ApiKeyRequest {
  static func principal(_ text: String) throws(RPCError) -> Principal {
    guard let principal = Principal(text) else {
      throw .invalidField(
        "principal", "must be user/ID or service/ID, the ID 1 to 128 characters of A-Z a-z 0-9 . _ : @ -",
        reason: "PRINCIPAL_INVALID")
    }
    return principal
  }

  /// - Parameter services: the names that a scope may use.
  static func scopes(_ texts: [String], services: [String]) throws(RPCError) -> [Scope] {
    guard texts.count <= ApiKeyLimits.scopesMax else {
      throw .invalidField("scopes", "at most \(ApiKeyLimits.scopesMax)", reason: "TOO_MANY_SCOPES")
    }
    var scopes: [Scope] = []
    for (index, text) in texts.enumerated() {
      guard let scope = Scope(text) else {
        throw .invalidField(
          "scopes[\(index)]", "must be admin, SERVICE, or SERVICE: and read, write, publish or operate",
          reason: "SCOPE_INVALID")
      }
      if let service = scope.service, !services.contains(service) {
        throw .invalidField(
          "scopes[\(index)]", "there is no service \(service) here, only \(services.joined(separator: ", "))",
          reason: "SCOPE_UNKNOWN")
      }
      if !scopes.contains(scope) { scopes.append(scope) }
    }
    return scopes
  }

  static func description(_ text: String) throws(RPCError) -> String {
    guard text.utf8.count <= ApiKeyLimits.descriptionBytesMax, !text.unicodeScalars.contains(where: isControl) else {
      throw .invalidField(
        "description", "at most \(ApiKeyLimits.descriptionBytesMax) bytes without control characters",
        reason: "DESCRIPTION_INVALID")
    }
    return text
  }

  static func expiry(_ expiresAtMs: Int64?, nowMs: Int64) throws(RPCError) -> Int64? {
    if let expiresAtMs, expiresAtMs <= nowMs {
      throw .invalidField("expireTime", "must be in the future", reason: "EXPIRE_TIME_PAST")
    }
    return expiresAtMs
  }

  /// How long a replaced key still works: up to 30 days, a day where nothing is said.
  static func overlapMs(_ overlap: ProtoDuration?) throws(RPCError) -> Int64 {
    guard let overlap else { return ApiKeyLimits.overlapMsDefault }
    guard overlap.nanos >= 0, (0...ApiKeyLimits.overlapMsMax / 1000).contains(overlap.seconds) else {
      throw .invalidField("overlap", "must be 0 s to 30 days", reason: "OVERLAP_INVALID")
    }
    return overlap.seconds * 1000 + Int64(overlap.nanos) / 1_000_000
  }

  static func pageSize(_ size: Int32) throws(RPCError) -> Int {
    guard (0...ApiKeyLimits.pageSizeMax).contains(Int(size)) else {
      throw .invalidField("pageSize", "must be 0 to \(ApiKeyLimits.pageSizeMax)", reason: "PAGE_SIZE_INVALID")
    }
    return size == 0 ? ApiKeyLimits.pageSizeDefault : Int(size)
  }

  static func keyID(_ id: String) throws(RPCError) -> String {
    guard (1...64).contains(id.utf8.count) else {
      throw .invalidField("keyId", "must be the id of a key, as k_…", reason: "KEY_ID_INVALID")
    }
    return id
  }

  private static func isControl(_ scalar: Unicode.Scalar) -> Bool { scalar.value < 0x20 || scalar.value == 0x7F }
}

/// Where a page of keys begins, as the opaque text that a caller hands back. It holds for the filter that it was made with.
enum ApiKeyPageToken {
  static func encode(_ key: StoredApiKey, includingRevoked: Bool) -> String {
    Base64URL.encode(Array("1:\(includingRevoked ? "a" : "c"):\(key.createdAtMs):\(key.id)".utf8))
  }

  /// Throws INVALID_ARGUMENT `PAGE_TOKEN_INVALID` for text that this did not make, or made for the other filter.
  static func decode(_ token: String, includingRevoked: Bool) throws(RPCError) -> ApiKeyRepository.Cursor? {
    if token.isEmpty { return nil }
    let parts = Base64URL.decode(token).map { String(decoding: $0, as: UTF8.self) }?
      .split(separator: ":", maxSplits: 3).map(String.init)
    guard let parts, parts.count == 4, parts[0] == "1", parts[1] == (includingRevoked ? "a" : "c"),
      let createdAtMs = Int64(parts[2]), parts[3].utf8.count <= 64
    else {
      throw .invalidField("pageToken", "is not one of this list's", reason: "PAGE_TOKEN_INVALID")
    }
    return ApiKeyRepository.Cursor(createdAtMs: createdAtMs, id: parts[3])
  }
}
