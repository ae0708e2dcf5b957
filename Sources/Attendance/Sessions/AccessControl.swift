import CampanileAPI
import CampanileBase
import CampanileCrypto
import CampanileRPC
import CampanileService

/// Identifies a call's caller: by the session in the call, otherwise by the principal from the gateway.
struct AccessControl: Sendable {
  static let sessionKey = "attendance-session"
  /// Set by a gateway on trusted links: the address of the gateway's own caller.
  static let addressKey = "campanile-remote-address"

  let repository: any AttendanceRepository

  /// Returns the caller. Throws UNAUTHENTICATED and PERMISSION_DENIED as documented in sessions_service.proto.
  func caller(_ context: CallContext) async throws -> AttendanceCaller {
    let address = Self.address(context)
    let tokens = context.metadata.values(Self.sessionKey)
    if let token = tokens.first {
      guard tokens.count == 1, let hash = try SessionToken.hash(token) else {
        throw SQLiteAttendanceRepository.sessionInvalid
      }
      return try await repository.caller(sessionHash: hash, address: address)
    }
    guard let principal = context.principal else {
      throw RPCError(
        .unauthenticated, "the call has neither a session nor a principal", reason: "PRINCIPAL_MISSING")
    }
    let isAdmin = principal.scopes.contains("admin")
    if principal.kind == .user, var caller = try await repository.caller(user: principal.id, address: address) {
      if isAdmin { caller.role = .admin }
      return caller
    }
    guard isAdmin else { throw AttendanceCaller.memberUnknown(principal.name) }
    return AttendanceCaller(name: principal.name, role: .admin, address: address)
  }

  /// Returns the caller if it has at least a role.
  func caller(_ context: CallContext, _ role: MemberRole) async throws -> AttendanceCaller {
    let caller = try await caller(context)
    try caller.require(role)
    return caller
  }

  /// Returns the address of a call: that of the gateway's caller if the gateway forwards it, otherwise that of the
  /// peer.
  static func address(_ context: CallContext) -> String {
    if let forwarded = context.metadata[addressKey] { return String(forwarded.unicodeScalars.prefix(64)) }
    return host(context.remoteAddress)
  }

  /// Whether the address belongs to the device rather than to a gateway that many devices share.
  static func isOwnAddress(_ context: CallContext) -> Bool {
    context.metadata[addressKey] != nil || context.principal == nil
  }

  /// Returns the address without its port, of a text such as `[IPv4]name/127.0.0.1:5000`.
  static func host(_ address: String) -> String {
    let bytes = address.utf8
    let start = bytes.lastIndex(of: UInt8(ascii: "/")).map { bytes.index(after: $0) } ?? bytes.startIndex
    let end = bytes[start...].lastIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
    return String(address[start..<end])
  }
}

/// The token of a session: `cas_` and 256 random bits in base64url. The store has its SHA-256; with so many random
/// bits, a slow hash would add no protection.
enum SessionToken {
  static let prefix = "cas_"
  static let sizeBytes = 47

  static func random() throws -> (text: String, hash: [UInt8]) { try HashedSecret.random(prefix) }

  /// Returns the hash of a token; nil if the text is malformed.
  static func hash(_ text: String) throws -> [UInt8]? { try HashedSecret.hash(text, prefix, sizeBytes) }
}

/// Secrets that are returned once and stored as hashes.
enum HashedSecret {
  static func random(_ prefix: String) throws -> (text: String, hash: [UInt8]) {
    do throws(CryptoError) {
      let text = prefix + Base64URL.encode(try SecureRandom.bytes(32))
      return (text, try SHA256.digest(Array(text.utf8)).bytes)
    } catch {
      throw RPCError(.internalError, "cannot create a secret")
    }
  }

  static func hash(_ text: String, _ prefix: String, _ sizeBytes: Int) throws -> [UInt8]? {
    guard text.utf8.count == sizeBytes, text.hasPrefix(prefix),
      Base64URL.decode(String(text.dropFirst(prefix.count)))?.count == 32
    else { return nil }
    do throws(CryptoError) {
      return try SHA256.digest(Array(text.utf8)).bytes
    } catch {
      throw RPCError(.internalError, "cannot hash the secret")
    }
  }
}
