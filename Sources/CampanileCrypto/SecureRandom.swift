private import COpenSSL

/// Cryptographically secure random bytes, for secrets.
public enum SecureRandom {
  /// Maximum number of bytes per call.
  public static let sizeBytesMax = 4096

  /// Returns `count` (1 to 4096) random bytes.
  ///
  /// - Throws: `randomUnavailable` if the generator is not seeded or `count` is out of range.
  public static func bytes(_ count: Int) throws(CryptoError) -> [UInt8] {
    guard (1...sizeBytesMax).contains(count) else {
      throw CryptoError(.randomUnavailable, "1 to \(sizeBytesMax) bytes can be requested, not \(count)")
    }
    var bytes = [UInt8](repeating: 0, count: count)
    guard RAND_bytes(&bytes, Int32(count)) == 1 else {
      throw CryptoError(.randomUnavailable, "the system's random generator failed")
    }
    return bytes
  }
}
