private import COpenSSL

/// Message authentication codes with SHA-256 (RFC 2104, RFC 4231).
public enum HMACSHA256 {
  /// The maximum key size. A longer key is a mistake: keys above 64 bytes are hashed to 32.
  public static let keySizeBytesMax = 4096

  /// Computes the code of `message` under `key`. An empty key is allowed, as in the standard.
  ///
  /// - Throws: `macFailed` for a key above `keySizeBytesMax`, or if OpenSSL has no memory.
  public static func code(_ message: UnsafeRawBufferPointer, key: [UInt8]) throws(CryptoError) -> SHA256Digest {
    guard key.count <= keySizeBytesMax else {
      throw CryptoError(.macFailed, "a key may have at most \(keySizeBytesMax) bytes, not \(key.count)")
    }
    var sizeBytes: UInt32 = 0
    var bytes = [UInt8](repeating: 0, count: SHA256Digest.sizeBytes)
    // An empty array may have no address, which OpenSSL interprets as "the previous key".
    let keyBytes = key.isEmpty ? [0] : key
    let made = HMAC(
      EVP_sha256(), keyBytes, Int32(key.count), message.baseAddress?.assumingMemoryBound(to: UInt8.self), message.count,
      &bytes, &sizeBytes)
    guard made != nil, sizeBytes == SHA256Digest.sizeBytes, let digest = SHA256Digest(bytes: bytes) else {
      throw CryptoError(.macFailed, "OpenSSL failed to compute a message authentication code")
    }
    return digest
  }

  /// Computes the code of `message` under `key`.
  public static func code(_ message: [UInt8], key: [UInt8]) throws(CryptoError) -> SHA256Digest {
    let result = message.withUnsafeBytes { raw in Result { () throws(CryptoError) in try code(raw, key: key) } }
    return try result.get()
  }

  /// Whether `code` authenticates `message`. Compares in constant time. False for a code that does not have 32 bytes.
  public static func isValid(_ code: [UInt8], for message: [UInt8], key: [UInt8]) throws(CryptoError) -> Bool {
    guard let claimed = SHA256Digest(bytes: code) else { return false }
    return try Self.code(message, key: key).isEqual(to: claimed)
  }
}
