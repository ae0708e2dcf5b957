private import COpenSSL

/// The 32 bytes of a SHA-256 digest (FIPS 180-4).
public struct SHA256Digest: Sendable, Hashable {
  public static let sizeBytes = 32

  // Four words rather than an array: a digest is made for every credential that is checked.
  private var words: (UInt64, UInt64, UInt64, UInt64)

  fileprivate init() { words = (0, 0, 0, 0) }

  /// The digest with these bytes; `nil` unless there are 32.
  public init?(bytes: [UInt8]) {
    guard bytes.count == Self.sizeBytes else { return nil }
    words = (0, 0, 0, 0)
    withUnsafeMutableBytes { $0.copyBytes(from: bytes) }
  }

  /// The bytes in the order in which the standard prints them.
  public var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

  /// Lower-case hexadecimal.
  public var hexadecimal: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// The first eight bytes: enough to find a digest among many, to be confirmed by `isEqual(to:)`.
  public var prefix: UInt64 { UInt64(bigEndian: words.0) }

  public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try Swift.withUnsafeBytes(of: words, body)
  }

  fileprivate mutating func withUnsafeMutableBytes<R>(_ body: (UnsafeMutableRawBufferPointer) throws -> R) rethrows -> R
  {
    try Swift.withUnsafeMutableBytes(of: &words, body)
  }

  /// Whether both are the same, in a time that does not depend on where they differ.
  public func isEqual(to other: SHA256Digest) -> Bool {
    withUnsafeBytes { mine in other.withUnsafeBytes { ConstantTime.equal(mine, $0) } }
  }

  // Derived conformances do not exist for tuples.
  public static func == (a: SHA256Digest, b: SHA256Digest) -> Bool { a.isEqual(to: b) }

  public func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
}

/// Makes SHA-256 digests with OpenSSL.
public enum SHA256 {
  /// Fetched once: OpenSSL 3 otherwise looks the algorithm up for every digest, which costs more than a short digest.
  /// The pointer is never written through and the object is immutable, so threads may share it.
  nonisolated(unsafe) private static let algorithm: OpaquePointer? = EVP_MD_fetch(nil, "SHA256", nil)

  /// The digest of `bytes`. Throws `digestFailed` when OpenSSL has no memory or no SHA-256.
  public static func digest(_ bytes: UnsafeRawBufferPointer) throws(CryptoError) -> SHA256Digest {
    guard let context = EVP_MD_CTX_new() else { throw CryptoError(.digestFailed, "OpenSSL gives no SHA-256") }
    defer { EVP_MD_CTX_free(context) }
    return try digest(bytes, in: context)
  }

  /// The digest of `bytes`, made in a context that is used again and again.
  static func digest(
    _ bytes: UnsafeRawBufferPointer, in context: OpaquePointer
  ) throws(CryptoError) -> SHA256Digest {
    guard let algorithm else { throw CryptoError(.digestFailed, "OpenSSL gives no SHA-256") }
    var digest = SHA256Digest()
    var sizeBytes: UInt32 = 0
    let succeeded =
      EVP_DigestInit_ex(context, algorithm, nil) == 1
      && (bytes.isEmpty || EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1)
      && digest.withUnsafeMutableBytes {
        EVP_DigestFinal_ex(context, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), &sizeBytes) == 1
      }
    guard succeeded, sizeBytes == SHA256Digest.sizeBytes else {
      throw CryptoError(.digestFailed, "OpenSSL failed to make a digest")
    }
    return digest
  }

  /// The digest of a text's UTF-8 bytes.
  public static func digest(_ text: String) throws(CryptoError) -> SHA256Digest {
    var text = text
    let result = text.withUTF8 { utf8 in
      Result { () throws(CryptoError) in try digest(UnsafeRawBufferPointer(utf8)) }
    }
    return try result.get()
  }

  /// The digest of `bytes`.
  public static func digest(_ bytes: [UInt8]) throws(CryptoError) -> SHA256Digest {
    let result = bytes.withUnsafeBytes { raw in Result { () throws(CryptoError) in try digest(raw) } }
    return try result.get()
  }
}
