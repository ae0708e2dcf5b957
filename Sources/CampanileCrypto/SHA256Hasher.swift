private import COpenSSL

/// Computes a SHA-256 digest incrementally. Not thread-safe.
public final class SHA256Hasher {
  private let context: OpaquePointer

  /// - Throws: `digestFailed` if OpenSSL has no memory or no SHA-256.
  public init() throws(CryptoError) {
    guard let context = EVP_MD_CTX_new() else { throw CryptoError(.digestFailed, "OpenSSL has no SHA-256") }
    self.context = context
    guard EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
      throw CryptoError(.digestFailed, "OpenSSL has no SHA-256")
    }
  }

  deinit { EVP_MD_CTX_free(context) }

  /// Adds the next bytes.
  public func update(_ bytes: UnsafeRawBufferPointer) throws(CryptoError) {
    guard bytes.isEmpty || EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 else {
      throw CryptoError(.digestFailed, "OpenSSL failed to compute a digest")
    }
  }

  /// Returns the digest of the bytes added so far; more may be added afterwards.
  public func digest() throws(CryptoError) -> SHA256Digest {
    guard let copy = EVP_MD_CTX_new() else { throw CryptoError(.digestFailed, "OpenSSL has no SHA-256") }
    defer { EVP_MD_CTX_free(copy) }
    var bytes = [UInt8](repeating: 0, count: SHA256Digest.sizeBytes)
    var sizeBytes: UInt32 = 0
    guard EVP_MD_CTX_copy_ex(copy, context) == 1, EVP_DigestFinal_ex(copy, &bytes, &sizeBytes) == 1,
      let digest = SHA256Digest(bytes: bytes)
    else { throw CryptoError(.digestFailed, "OpenSSL failed to compute a digest") }
    return digest
  }
}
