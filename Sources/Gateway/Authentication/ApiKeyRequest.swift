import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC

/// Checks of the requests to `AccessService` that the contract does not declare. Each violation names its field.
enum ApiKeyRequest {
  /// - Parameter device: The device that the key is bound to; empty for none.
  static func principal(_ text: String, device: String) throws(RPCError) -> Principal {
    guard var principal = Principal(text) else {
      throw .invalidField("principal", Principal.form, reason: "PRINCIPAL_INVALID")
    }
    guard device.isEmpty || principal.kind == .user else {
      throw .invalidField("deviceId", "must be empty unless the principal is user/ID", reason: "FIELD_NOT_ALLOWED")
    }
    principal.deviceID = device
    return principal
  }

  /// - Parameter services: The service names that a scope may use.
  static func scopes(_ texts: [String], services: [String]) throws(RPCError) -> [Scope] {
    var scopes: [Scope] = []
    for (index, text) in texts.enumerated() {
      guard let scope = Scope(text) else {
        throw .invalidField(
          "scopes[\(index)]", "must be admin, SERVICE, or SERVICE: and read, write, publish or operate",
          reason: "SCOPE_INVALID")
      }
      if let service = scope.service, !services.contains(service) {
        throw .invalidField(
          "scopes[\(index)]", "unknown service \(service); known are \(services.joined(separator: ", "))",
          reason: "SCOPE_UNKNOWN")
      }
      if !scopes.contains(scope) { scopes.append(scope) }
    }
    return scopes
  }

  static func description(_ text: String) throws(RPCError) -> String {
    guard !text.unicodeScalars.contains(where: isControl) else {
      throw .invalidField("description", "must not contain control characters", reason: "DESCRIPTION_INVALID")
    }
    return text
  }

  static func expiry(_ expiresAtMs: Int64?, nowMs: Int64) throws(RPCError) -> Int64? {
    if let expiresAtMs, expiresAtMs <= nowMs {
      throw .invalidField("expireTime", "must be in the future", reason: "EXPIRE_TIME_PAST")
    }
    return expiresAtMs
  }

  /// Returns the page size to use: the default for 0, and at most the limit (AIP-158).
  static func pageSize(_ size: Int32) -> Int {
    min(size == 0 ? ApiKeyLimits.pageSizeDefault : Int(size), ApiKeyLimits.pageSizeMax)
  }

  private static func isControl(_ scalar: Unicode.Scalar) -> Bool { scalar.value < 0x20 || scalar.value == 0x7F }
}
