private import COpenSSL
import CampanileBase

/// A SHA-256 digest (FIPS 180-4).
public struct SHA256Digest: Sendable, Hashable {
  public static let sizeBytes = 32

  // Four words rather than an array, which would be allocated: every credential that is verified needs a digest.
  private var words: (UInt64, UInt64, UInt64, UInt64)

  fileprivate init() { words = (0, 0, 0, 0) }

  /// Creates a digest from its bytes; nil unless there are 32.
  public init?(bytes: [UInt8]) {
    guard bytes.count == Self.sizeBytes else { return nil }
    words = (0, 0, 0, 0)
    withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
  }

  /// The bytes in the order of the standard.
  public var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

  /// Lower-case hexadecimal.
  public var hexadecimal: String { withUnsafeBytes { Hexadecimal.text($0) } }

  /// The first eight bytes: a lookup key, to be confirmed with `isEqual(to:)`.
  public var prefix: UInt64 { UInt64(bigEndian: words.0) }

  public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try Swift.withUnsafeBytes(of: words, body)
  }

  fileprivate mutating func withUnsafeMutableBytes<R>(_ body: (UnsafeMutableRawBufferPointer) throws -> R) rethrows -> R
  {
    try Swift.withUnsafeMutableBytes(of: &words, body)
  }

  /// Whether both are equal, compared in constant time.
  public func isEqual(to other: SHA256Digest) -> Bool {
    withUnsafeBytes { mine in other.withUnsafeBytes { ConstantTime.equal(mine, $0) } }
  }

  // Conformances are not derived for tuples.
  public static func == (a: SHA256Digest, b: SHA256Digest) -> Bool { a.isEqual(to: b) }

  public func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
}

/// Computes SHA-256 digests with OpenSSL.
public enum SHA256 {
  /// Fetched once: OpenSSL 3 otherwise looks up the algorithm for every digest, which takes longer than a short digest.
  /// Threads may share the pointer, because the object is immutable.
  nonisolated(unsafe) private static let algorithm: OpaquePointer? = EVP_MD_fetch(nil, "SHA256", nil)

  /// Computes the digest of `bytes`.
  ///
  /// - Throws: `digestFailed` if OpenSSL has no memory or no SHA-256.
  public static func digest(_ bytes: UnsafeRawBufferPointer) throws(CryptoError) -> SHA256Digest {
    guard let context = EVP_MD_CTX_new() else { throw CryptoError(.digestFailed, "OpenSSL has no SHA-256") }
    defer { EVP_MD_CTX_free(context) }
    return try digest(bytes, in: context)
  }

  /// Computes the digest of `bytes` in a reusable context.
  static func digest(
    _ bytes: UnsafeRawBufferPointer, in context: OpaquePointer
  ) throws(CryptoError) -> SHA256Digest {
    guard let algorithm else { throw CryptoError(.digestFailed, "OpenSSL has no SHA-256") }
    var digest = SHA256Digest()
    var sizeBytes: UInt32 = 0
    let succeeded =
      EVP_DigestInit_ex(context, algorithm, nil) == 1
      && (bytes.isEmpty || EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1)
      && digest.withUnsafeMutableBytes {
        EVP_DigestFinal_ex(context, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), &sizeBytes) == 1
      }
    guard succeeded, sizeBytes == SHA256Digest.sizeBytes else {
      throw CryptoError(.digestFailed, "OpenSSL failed to compute a digest")
    }
    return digest
  }

  /// Computes the digest of a text's UTF-8 bytes.
  public static func digest(_ text: String) throws(CryptoError) -> SHA256Digest {
    var text = text
    let result = text.withUTF8 { utf8 in
      Result { () throws(CryptoError) in try digest(UnsafeRawBufferPointer(utf8)) }
    }
    return try result.get()
  }

  /// Computes the digest of `bytes`.
  public static func digest(_ bytes: [UInt8]) throws(CryptoError) -> SHA256Digest {
    let result = bytes.withUnsafeBytes { raw in Result { () throws(CryptoError) in try digest(raw) } }
    return try result.get()
  }
}
