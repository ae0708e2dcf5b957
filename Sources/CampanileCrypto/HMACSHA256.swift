private import COpenSSL

/// Message authentication codes with SHA-256 (RFC 2104, RFC 4231).
public enum HMACSHA256 {
  /// The longest key that is taken; longer ones are a mistake, since only 64 bytes count.
  public static let keySizeBytesMax = 4096

  /// The 32 bytes that authenticate `message` under `key`. An empty key is allowed, as the standard does.
  /// Throws `macFailed` for a key above `keySizeBytesMax` and when OpenSSL has no memory.
  public static func code(_ message: UnsafeRawBufferPointer, key: [UInt8]) throws(CryptoError) -> SHA256Digest {
    guard key.count <= keySizeBytesMax else {
      throw CryptoError(.macFailed, "a key has \(keySizeBytesMax) bytes at most, not \(key.count)")
    }
    var sizeBytes: UInt32 = 0
    var bytes = [UInt8](repeating: 0, count: SHA256Digest.sizeBytes)
    // An empty array may have no address, which OpenSSL reads as "the key of before".
    let keyBytes = key.isEmpty ? [0] : key
    let made = HMAC(
      EVP_sha256(), keyBytes, Int32(key.count), message.baseAddress?.assumingMemoryBound(to: UInt8.self), message.count,
      &bytes, &sizeBytes)
    guard made != nil, sizeBytes == SHA256Digest.sizeBytes, let digest = SHA256Digest(bytes: bytes) else {
      throw CryptoError(.macFailed, "OpenSSL failed to make a message authentication code")
    }
    return digest
  }

  /// The 32 bytes that authenticate `message` under `key`.
  public static func code(_ message: [UInt8], key: [UInt8]) throws(CryptoError) -> SHA256Digest {
    let result = message.withUnsafeBytes { raw in Result { () throws(CryptoError) in try code(raw, key: key) } }
    return try result.get()
  }

  /// Whether `code` authenticates `message`, in a time that does not depend on where they differ. False for a code of
  /// another length than 32 bytes.
  public static func isValid(_ code: [UInt8], for message: [UInt8], key: [UInt8]) throws(CryptoError) -> Bool {
    guard let claimed = SHA256Digest(bytes: code) else { return false }
    return try Self.code(message, key: key).isEqual(to: claimed)
  }
}
