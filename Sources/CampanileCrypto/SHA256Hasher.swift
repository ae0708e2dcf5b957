private import COpenSSL

/// Makes a SHA-256 digest of bytes that come piece by piece. For one thread at a time.
public final class SHA256Hasher {
  private let context: OpaquePointer

  /// Throws `digestFailed` when OpenSSL has no memory or no SHA-256.
  public init() throws(CryptoError) {
    guard let context = EVP_MD_CTX_new() else { throw CryptoError(.digestFailed, "OpenSSL gives no SHA-256") }
    self.context = context
    guard EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
      throw CryptoError(.digestFailed, "OpenSSL gives no SHA-256")
    }
  }

  deinit { EVP_MD_CTX_free(context) }

  /// Adds what follows.
  public func update(_ bytes: UnsafeRawBufferPointer) throws(CryptoError) {
    guard bytes.isEmpty || EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 else {
      throw CryptoError(.digestFailed, "OpenSSL failed to make a digest")
    }
  }

  /// The digest of what was added so far; more may follow.
  public func digest() throws(CryptoError) -> SHA256Digest {
    guard let copy = EVP_MD_CTX_new() else { throw CryptoError(.digestFailed, "OpenSSL gives no SHA-256") }
    defer { EVP_MD_CTX_free(copy) }
    var bytes = [UInt8](repeating: 0, count: SHA256Digest.sizeBytes)
    var sizeBytes: UInt32 = 0
    guard EVP_MD_CTX_copy_ex(copy, context) == 1, EVP_DigestFinal_ex(copy, &bytes, &sizeBytes) == 1,
      let digest = SHA256Digest(bytes: bytes)
    else { throw CryptoError(.digestFailed, "OpenSSL failed to make a digest") }
    return digest
  }
}
