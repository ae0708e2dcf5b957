import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileRPC
import CampanileService

/// The owner of a count of failed logins: a member, or an unknown name. Both are counted alike, so that a caller cannot
/// find out whether a name exists.
struct LoginSubject: Sendable, Hashable {
  /// The member's id. For other names their SHA-256, because people type PINs into the name field by mistake.
  let key: String
  /// Nil for an unknown name.
  let member: Int64?

  init(member: Int64) {
    key = AttendanceIDs.memberID(member)
    self.member = member
  }

  /// - Parameter nameKey: The name as a key; see `MemberRules.key`.
  init(nameKey: String, member: Int64?) throws(RPCError) {
    let digest: [UInt8]
    do throws(CryptoError) {
      digest = try SHA256.digest(Array(nameKey.utf8)).bytes
    } catch {
      throw RPCError(.internalError, "cannot hash the name")
    }
    key = member.map(AttendanceIDs.memberID) ?? "?" + Base64URL.encode(digest)
    self.member = member
  }
}

/// The token of a device: `cad_` and 256 random bits in base64url. Stored as its SHA-256.
enum LoginDeviceToken {
  static let prefix = "cad_"
  static let sizeBytes = 47
  /// The maximum number of devices of a member. One more removes the device with the oldest login.
  static let perMemberMax = 20
  /// The validity of a token after its last login.
  static let lifetimeMs: Int64 = 180 * 24 * 3_600_000
  /// The number of consecutive failures that end the validity of a token. Its bearer then counts as unknown.
  static let failuresMax: Int64 = 10

  static func random() throws -> (text: String, hash: [UInt8]) { try HashedSecret.random(prefix) }

  /// Returns the hash of a token; nil if the text is malformed.
  static func hash(_ text: String) throws -> [UInt8]? { try HashedSecret.hash(text, prefix, sizeBytes) }
}
