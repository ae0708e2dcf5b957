private import COpenSSL

/// Random bytes that nobody can guess, for secrets.
public enum SecureRandom {
  /// The most bytes that one call gives.
  public static let sizeBytesMax = 4096

  /// `count` (1 to 4096) random bytes. Throws `randomUnavailable` when the generator is not seeded or for other counts.
  public static func bytes(_ count: Int) throws(CryptoError) -> [UInt8] {
    guard (1...sizeBytesMax).contains(count) else {
      throw CryptoError(.randomUnavailable, "1 to \(sizeBytesMax) bytes can be asked for, not \(count)")
    }
    var bytes = [UInt8](repeating: 0, count: count)
    guard RAND_bytes(&bytes, Int32(count)) == 1 else {
      throw CryptoError(.randomUnavailable, "the system's random generator failed")
    }
    return bytes
  }
}
