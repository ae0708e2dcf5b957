private import COpenSSL

/// A public key on P-256 that verifies `ES256` signatures. Thread-safe.
public final class ES256PublicKey: Sendable {
  private let key: PEMKey
  /// The key as SPKI in PEM.
  public let pem: String

  /// Reads a key in SPKI (`-----BEGIN PUBLIC KEY-----`).
  ///
  /// - Throws: `keyMalformed` or `keyUnsupported`, with `source` in the message.
  public init(pem: [UInt8], source: String) throws(CryptoError) {
    let key = try PEMKey.publicKey(pem, source: source)
    self.key = key
    self.pem = String(decoding: try key.spki(), as: UTF8.self)
  }

  /// Whether `signature` is a valid signature of `message`.
  ///
  /// - Throws: `signatureFailed` if OpenSSL has no memory.
  public func isValid(_ signature: ES256Signature, for message: [UInt8]) throws(CryptoError) -> Bool {
    let digest = try SHA256.digest(message)
    guard let context = EVP_PKEY_CTX_new(key.pointer, nil), EVP_PKEY_verify_init(context) == 1 else {
      throw CryptoError(.signatureFailed, "OpenSSL has no memory to check a signature")
    }
    defer { EVP_PKEY_CTX_free(context) }
    let der = signature.der
    let result = digest.withUnsafeBytes { digest in
      EVP_PKEY_verify(context, der, der.count, digest.baseAddress?.assumingMemoryBound(to: UInt8.self), digest.count)
    }
    if result != 1 { ERR_clear_error() }
    return result == 1
  }
}
