internal import CampanileCrypto

/// A token that callers hand back as they got it: base64url over a version, a digest and a payload.
///
/// The digest binds the payload to what it was made for, such as the user and the query. It finds mistakes; it is no
/// secret, and need not be: whoever forges a token reads no more than its user's own objects, from another place.
public enum OpaqueToken {
  /// Characters of a token at most; longer ones are refused unread.
  public static let sizeMax = 1_024
  private static let version: UInt8 = 1

  public static func encode(_ payload: [UInt8], scope: [String]) -> String {
    var bytes: [UInt8] = [version]
    append(digest(payload, scope), to: &bytes)
    return Base64URL.encode(bytes + payload)
  }

  /// The payload; nil when the token was not made for this scope.
  public static func decode(_ token: String, scope: [String]) -> [UInt8]? {
    guard token.utf8.count <= sizeMax, let bytes = Base64URL.decode(token), bytes.count >= 9, bytes[0] == version
    else { return nil }
    let payload = Array(bytes[9...])
    return readInteger(bytes, at: 1) == digest(payload, scope) ? payload : nil
  }

  public static func append(_ value: UInt64, to bytes: inout [UInt8]) {
    for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
  }

  /// Eight bytes, big-endian; nil when there are fewer.
  public static func readInteger(_ bytes: [UInt8], at offset: Int) -> UInt64? {
    guard bytes.count >= offset + 8 else { return nil }
    return bytes[offset..<offset + 8].reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// FNV-1a over the scope's parts, each with its length, and the payload.
  private static func digest(_ payload: [UInt8], _ scope: [String]) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    for part in scope {
      for byte in part.utf8 { add(byte) }
      // UTF-8 has no 0xFF: it ends a part unmistakably.
      add(0xFF)
    }
    for byte in payload { add(byte) }
    return hash
  }
}
