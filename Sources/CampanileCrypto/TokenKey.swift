private import COpenSSL
import CampanileBase

/// A public key that verifies the signatures of JSON Web Tokens with exactly one algorithm. Thread-safe.
public final class TokenKey: Sendable {
  /// Algorithm names of JSON Web Algorithms (RFC 7518 section 3.1).
  public enum Algorithm: String, Sendable, Hashable {
    case rs256 = "RS256"
    case es256 = "ES256"
  }

  private enum Key {
    case rsa(PEMKey)
    case p256(ES256PublicKey)
  }

  public let algorithm: Algorithm
  private let key: Key

  /// Creates an RSA key for `RS256` from the big-endian integers of a JSON Web Key (RFC 7518 section 6.3.1).
  ///
  /// - Throws: `keyMalformed` or `keyUnsupported`, with `source` in the message.
  public init(rsaModulus: [UInt8], exponent: [UInt8], source: String) throws(CryptoError) {
    guard !rsaModulus.isEmpty, rsaModulus.count <= 1024, (1...8).contains(exponent.count) else {
      throw CryptoError(.keyUnsupported, "\(source): an RSA key must have 2048 to 8192 bits")
    }
    let numbers = DER.sequence(DER.integer(rsaModulus) + DER.integer(exponent))
    let spki = DER.sequence(DER.rsaEncryption + DER.bitString(numbers))
    key = .rsa(try PEMKey.rsaPublicKey(spki: spki, source: source))
    algorithm = .rs256
  }

  /// Creates a P-256 key for `ES256` from the coordinates of a JSON Web Key (RFC 7518 section 6.2.1).
  ///
  /// - Throws: `keyMalformed` or `keyUnsupported`, with `source` in the message.
  public init(p256X x: [UInt8], y: [UInt8], source: String) throws(CryptoError) {
    guard x.count == 32, y.count == 32 else {
      throw CryptoError(.keyMalformed, "\(source): the coordinates of a key on P-256 have 32 bytes")
    }
    let spki = DER.sequence(DER.p256 + DER.bitString([0x04] + x + y))
    let pem = "-----BEGIN PUBLIC KEY-----\n\(Self.lines(Base64.text(spki)))\n-----END PUBLIC KEY-----\n"
    key = .p256(try ES256PublicKey(pem: Array(pem.utf8), source: source))
    algorithm = .es256
  }

  /// Breaks base64 into lines of 64 characters (RFC 7468).
  private static func lines(_ text: String) -> String {
    let characters = Array(text.utf8)
    return stride(from: 0, to: characters.count, by: 64)
      .map { String(decoding: characters[$0..<min($0 + 64, characters.count)], as: UTF8.self) }
      .joined(separator: "\n")
  }

  /// Whether `signature`, in the format of JSON Web Signatures, is a valid signature of `message`.
  ///
  /// - Throws: `signatureFailed` if OpenSSL has no memory.
  public func isValid(_ signature: [UInt8], for message: [UInt8]) throws(CryptoError) -> Bool {
    switch key {
    case .p256(let key):
      guard let signature = ES256Signature(raw: signature) else { return false }
      return try key.isValid(signature, for: message)
    case .rsa(let key):
      guard let context = EVP_MD_CTX_new() else {
        throw CryptoError(.signatureFailed, "OpenSSL has no memory to check a signature")
      }
      defer { EVP_MD_CTX_free(context) }
      guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key.pointer) == 1 else {
        ERR_clear_error()
        throw CryptoError(.signatureFailed, "OpenSSL cannot verify RSA signatures")
      }
      let result = EVP_DigestVerify(context, signature, signature.count, message, message.count)
      if result != 1 { ERR_clear_error() }
      return result == 1
    }
  }
}

/// The subset of the distinguished encoding (ITU-T X.690) that public keys need.
enum DER {
  /// The algorithm identifiers of RFC 3279 section 2.3.1 and RFC 5480 section 2.1.1.
  static let rsaEncryption: [UInt8] = [
    0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00,
  ]
  static let p256: [UInt8] = [
    0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03,
    0x01, 0x07,
  ]

  static func sequence(_ content: [UInt8]) -> [UInt8] { [0x30] + length(content.count) + content }
  static func bitString(_ content: [UInt8]) -> [UInt8] { [0x03] + length(content.count + 1) + [0] + content }

  /// Encodes a non-negative integer from big-endian bytes.
  static func integer(_ bytes: [UInt8]) -> [UInt8] {
    var digits = Array(bytes.drop { $0 == 0 })
    if digits.first ?? 0x80 >= 0x80 { digits.insert(0, at: 0) }
    return [0x02] + length(digits.count) + digits
  }

  private static func length(_ count: Int) -> [UInt8] {
    if count < 0x80 { return [UInt8(count)] }
    if count < 0x100 { return [0x81, UInt8(count)] }
    return [0x82, UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)]
  }
}
