import CampanileAPI
import CampanileCrypto
import CampanileRPC
import CampanileService

/// Finds out who makes a call: the session that it carries, else the principal that the gateway tells.
struct AccessControl: Sendable {
  static let sessionKey = "attendance-session"
  /// Set by a gateway on trusted links: the address of its own caller.
  static let addressKey = "campanile-remote-address"

  let repository: any AttendanceRepository

  /// Throws UNAUTHENTICATED and PERMISSION_DENIED as sessions_service.proto says.
  func caller(_ context: CallContext) throws -> Caller {
    let address = Self.address(context)
    let tokens = context.metadata.values(Self.sessionKey)
    if let token = tokens.first {
      guard tokens.count == 1, let hash = try SessionToken.hash(token) else {
        throw SQLiteAttendanceRepository.sessionInvalid
      }
      return try repository.caller(sessionHash: hash, address: address)
    }
    guard let principal = context.principal else {
      throw RPCError(
        .unauthenticated, "the call has neither a session nor a principal", reason: "PRINCIPAL_MISSING")
    }
    let isAdmin = principal.scopes.contains("admin")
    if principal.kind == .user, var caller = try repository.caller(user: principal.id, address: address) {
      if isAdmin { caller.role = .admin }
      return caller
    }
    guard isAdmin else { throw Caller.memberUnknown(principal.name) }
    return Caller(name: principal.name, role: .admin, address: address)
  }

  /// As `caller`, at least of a role.
  func caller(_ context: CallContext, _ role: MemberRole) throws -> Caller {
    let caller = try caller(context)
    try caller.require(role)
    return caller
  }

  /// The address that a call came from; that of the gateway's caller where the gateway tells it.
  static func address(_ context: CallContext) -> String {
    if let told = context.metadata[addressKey] { return String(told.unicodeScalars.prefix(64)) }
    return host(context.remoteAddress)
  }

  /// Whether the address is that of the device rather than of a gateway that many devices share.
  static func isOwnAddress(_ context: CallContext) -> Bool {
    context.metadata[addressKey] != nil || context.principal == nil
  }

  /// Of `[IPv4]name/127.0.0.1:5000` the address without its port.
  static func host(_ address: String) -> String {
    let bytes = address.utf8
    let start = bytes.lastIndex(of: UInt8(ascii: "/")).map { bytes.index(after: $0) } ?? bytes.startIndex
    let end = bytes[start...].lastIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
    return String(address[start..<end])
  }
}

/// The token of a session: `cas_` and 256 random bits in base64url. What is stored is its SHA-256: with so many random bits
/// there is nothing that a slow hash would protect.
enum SessionToken {
  static let prefix = "cas_"
  static let sizeBytes = 47

  static func random() throws -> (text: String, hash: [UInt8]) { try Secret.random(prefix) }

  /// Nil for a text that does not have the form of one.
  static func hash(_ text: String) throws -> [UInt8]? { try Secret.hash(text, prefix, sizeBytes) }
}

/// Secrets that are told once and stored hashed.
enum Secret {
  static func random(_ prefix: String) throws -> (text: String, hash: [UInt8]) {
    do throws(CryptoError) {
      let text = prefix + Base64URL.encode(try SecureRandom.bytes(32))
      return (text, try SHA256.digest(Array(text.utf8)).bytes)
    } catch {
      throw RPCError(.internalError, "no secret can be made")
    }
  }

  static func hash(_ text: String, _ prefix: String, _ sizeBytes: Int) throws -> [UInt8]? {
    guard text.utf8.count == sizeBytes, text.hasPrefix(prefix),
      Base64URL.decode(String(text.dropFirst(prefix.count)))?.count == 32
    else { return nil }
    do throws(CryptoError) {
      return try SHA256.digest(Array(text.utf8)).bytes
    } catch {
      throw RPCError(.internalError, "the secret cannot be hashed")
    }
  }
}
