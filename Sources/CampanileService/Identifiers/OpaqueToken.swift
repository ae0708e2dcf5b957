import CampanileBase
internal import CampanileCrypto

/// A token that callers return unchanged: base64url of a version, a digest and a payload.
///
/// The digest binds the payload to its scope, such as the user and the query. It detects mistakes and does not have to
/// be secret: a forged token only reads the user's own objects, from another position.
public enum OpaqueToken {
  /// The maximum number of characters of a token. Longer ones are rejected before decoding.
  public static let sizeMax = 1_024
  private static let version: UInt8 = 1

  public static func encode(_ payload: [UInt8], scope: [String]) -> String {
    var bytes: [UInt8] = [version]
    append(digest(payload, scope), to: &bytes)
    return Base64URL.encode(bytes + payload)
  }

  /// Returns the payload, or nil if the token was not created for this scope.
  public static func decode(_ token: String, scope: [String]) -> [UInt8]? {
    guard token.utf8.count <= sizeMax, let bytes = Base64URL.decode(token), bytes.count >= 9, bytes[0] == version
    else { return nil }
    let payload = Array(bytes[9...])
    return readInteger(bytes, at: 1) == digest(payload, scope) ? payload : nil
  }

  public static func append(_ value: UInt64, to bytes: inout [UInt8]) {
    for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
  }

  /// Reads eight bytes, big-endian. Returns nil if there are fewer.
  public static func readInteger(_ bytes: [UInt8], at offset: Int) -> UInt64? {
    guard bytes.count >= offset + 8 else { return nil }
    return bytes[offset..<offset + 8].reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// FNV-1a over the parts of the scope, each with a separator, and the payload.
  private static func digest(_ payload: [UInt8], _ scope: [String]) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    for part in scope {
      for byte in part.utf8 { add(byte) }
      // UTF-8 does not contain 0xFF, so it separates the parts unambiguously.
      add(0xFF)
    }
    for byte in payload { add(byte) }
    return hash
  }
}
