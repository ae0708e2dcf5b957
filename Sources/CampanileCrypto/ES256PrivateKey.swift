private import COpenSSL
import Synchronization

/// A private key on P-256 that signs with ECDSA and SHA-256 (`ES256`, RFC 7518 section 3.4). Thread-safe.
///
/// Printing, dumping or mirroring the key shows `[redacted]`.
public final class ES256PrivateKey: Sendable, CustomStringConvertible, CustomReflectable {
  /// OpenSSL's contexts for a signature and its digest, used by one signature at a time. Creating them takes up to a
  /// tenth of the time of a signature.
  private struct Context: @unchecked Sendable {
    // `@unchecked`: the lock of `idle` lends each context to one signature at a time, and orders the transfers between
    // threads.
    let pointer: OpaquePointer
    let digest: OpaquePointer

    func free() {
      EVP_PKEY_CTX_free(pointer)
      EVP_MD_CTX_free(digest)
    }
  }

  private static let idleMax = 8

  private let key: PEMKey
  private let idle = Mutex<[Context]>([])
  /// The matching public key.
  public let publicKey: ES256PublicKey

  /// Reads a key in PKCS#8 (Apple's `.p8`) or SEC 1 from a PEM text.
  ///
  /// - Parameter source: The key's name in messages, such as the file's path.
  /// - Throws: `keyMalformed`, `keyEncrypted` or `keyUnsupported`; the message contains nothing of the key.
  public convenience init(pem: [UInt8], source: String) throws(CryptoError) {
    try self.init(key: try PEMKey.privateKey(pem, source: source))
  }

  /// Reads a key from a file.
  ///
  /// - Throws: The errors of `KeyFile.read` and of the other initialiser.
  public convenience init(path: String) throws(CryptoError) {
    try self.init(pem: try KeyFile.read(path), source: path)
  }

  /// Generates a random key.
  public static func generate() throws(CryptoError) -> ES256PrivateKey {
    try ES256PrivateKey(key: try PEMKey.generate())
  }

  private init(key: PEMKey) throws(CryptoError) {
    self.key = key
    publicKey = try ES256PublicKey(pem: try key.spki(), source: "the public part")
  }

  deinit {
    for context in idle.withLock({ $0 }) { context.free() }
  }

  /// The key as PKCS#8 in PEM, for a private file.
  public func privatePEM() throws(CryptoError) -> [UInt8] { try key.pkcs8() }

  /// Signs the SHA-256 digest of `message`.
  ///
  /// - Throws: `signatureFailed` if OpenSSL has no memory or no randomness.
  public func sign(_ message: [UInt8]) throws(CryptoError) -> ES256Signature {
    let context = try takeContext()
    defer { giveBack(context) }
    let digested = message.withUnsafeBytes { raw in
      Result { () throws(CryptoError) in try SHA256.digest(raw, in: context.digest) }
    }
    let digest = try digested.get()
    var sizeBytes = ES256Signature.derSizeBytesMax
    let signature = withUnsafeTemporaryAllocation(byteCount: sizeBytes, alignment: 1) { buffer -> ES256Signature? in
      let start = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
      let made = digest.withUnsafeBytes { digest in
        EVP_PKEY_sign(
          context.pointer, start, &sizeBytes, digest.baseAddress?.assumingMemoryBound(to: UInt8.self), digest.count)
      }
      guard made == 1 else { return nil }
      return ES256Signature(der: UnsafeRawBufferPointer(rebasing: buffer[..<sizeBytes]))
    }
    guard let signature else {
      ERR_clear_error()
      throw CryptoError(.signatureFailed, "OpenSSL failed to sign")
    }
    return signature
  }

  private func takeContext() throws(CryptoError) -> Context {
    if let context = idle.withLock({ $0.popLast() }) { return context }
    let pointer = EVP_PKEY_CTX_new(key.pointer, nil)
    let digest = EVP_MD_CTX_new()
    guard let pointer, let digest, EVP_PKEY_sign_init(pointer) == 1 else {
      EVP_PKEY_CTX_free(pointer)
      EVP_MD_CTX_free(digest)
      ERR_clear_error()
      throw CryptoError(.signatureFailed, "OpenSSL has no memory to sign")
    }
    return Context(pointer: pointer, digest: digest)
  }

  private func giveBack(_ context: Context) {
    let isKept = idle.withLock { idle in
      guard idle.count < Self.idleMax else { return false }
      idle.append(context)
      return true
    }
    if !isKept { context.free() }
  }

  public var description: String { "ES256PrivateKey([redacted])" }
  public var customMirror: Mirror { Mirror(self, children: []) }
}
