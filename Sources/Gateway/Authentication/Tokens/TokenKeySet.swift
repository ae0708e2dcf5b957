import CampanileBase
import CampanileCrypto
import Foundation

/// A key that verifies tokens.
final class TokenSigner: Sendable {
  let key: TokenKey
  /// The key's parameters, which show whether a reloaded set has the same key.
  let material: [String]
  /// Revokes every credential that the key verified, once the key is removed from the set.
  let revocation = Revocation()

  init(key: TokenKey, material: [String]) {
    self.key = key
    self.material = material
  }
}

/// The supported keys of a JSON Web Key Set: RSA for RS256 and P-256 for ES256. Each key is used for its algorithm
/// only.
struct TokenKeySet: Sendable {
  static let sizeBytesMax = 256 * 1024
  static let keysMax = 64

  /// Keys by `kid`; the empty string for a key without one.
  private(set) var signers: [String: TokenSigner] = [:]

  /// The wire form (RFC 7517, RFC 7518 section 6). Members of unsupported kinds of keys are ignored.
  private struct Document: Decodable {
    struct Key: Decodable {
      var kty: String
      var kid: String?
      var use: String?
      var alg: String?
      var crv: String?
      var n: String?
      var e: String?
      var x: String?
      var y: String?
    }
    var keys: [Key]
  }

  init() {}

  /// Reads a key set and ignores keys that are not for signing or are of unsupported kinds or algorithms.
  ///
  /// - Throws: `CryptoError` if the text is not a key set, a key is malformed, two keys have the same `kid`, or no key
  ///   is supported.
  init(_ bytes: [UInt8], source: String) throws(CryptoError) {
    guard bytes.count <= Self.sizeBytesMax, let document = try? JSONDecoder().decode(Document.self, from: Data(bytes))
    else { throw CryptoError(.keyMalformed, "\(source): is not a JSON Web Key Set") }
    guard document.keys.count <= Self.keysMax else {
      throw CryptoError(.keyMalformed, "\(source): has more than \(Self.keysMax) keys")
    }
    for key in document.keys where key.use == nil || key.use == "sig" {
      guard let signer = try Self.signer(key, source: "\(source), key \((key.kid ?? "without kid").prefix(64))") else {
        continue
      }
      guard signers.updateValue(signer, forKey: key.kid ?? "") == nil else {
        throw CryptoError(.keyMalformed, "\(source): two keys have the same kid")
      }
    }
    guard !signers.isEmpty else {
      throw CryptoError(.keyUnsupported, "\(source): has no key for RS256 or ES256")
    }
  }

  private static func signer(_ key: Document.Key, source: String) throws(CryptoError) -> TokenSigner? {
    switch key.kty {
    case "RSA" where key.alg == nil || key.alg == TokenKey.Algorithm.rs256.rawValue:
      guard let n = key.n, let e = key.e, let modulus = Base64URL.decode(n), let exponent = Base64URL.decode(e) else {
        throw CryptoError(.keyMalformed, "\(source): has no n and e in base64url")
      }
      return TokenSigner(
        key: try TokenKey(rsaModulus: modulus, exponent: exponent, source: source), material: ["RSA", n, e])
    case "EC" where key.crv == "P-256" && (key.alg == nil || key.alg == TokenKey.Algorithm.es256.rawValue):
      guard let x = key.x, let y = key.y, let xBytes = Base64URL.decode(x), let yBytes = Base64URL.decode(y) else {
        throw CryptoError(.keyMalformed, "\(source): has no x and y in base64url")
      }
      return TokenSigner(key: try TokenKey(p256X: xBytes, y: yBytes, source: source), material: ["EC", x, y])
    default: return nil
    }
  }

  /// Returns the key that a token names, or the only key if the token names none.
  func signer(named kid: String?) -> TokenSigner? {
    if let kid { return signers[kid] }
    return signers.count == 1 ? signers.values.first : nil
  }

  /// Verifies a token's signature and returns the key.
  ///
  /// The key determines the algorithm, not the token. This rejects `none`, and an HMAC computed with the public key as
  /// its secret (RFC 8725 section 3.1).
  func verify(_ token: JSONWebToken) throws(TokenFault) -> TokenSigner {
    guard token.header.crit == nil else { throw .malformed }
    if let type = token.header.type, type != "jwt", type != TokenPolicy.accessTokenType { throw .malformed }
    guard TokenKey.Algorithm(rawValue: token.header.alg) != nil else { throw .algorithmNotAllowed }
    guard let signer = signer(named: token.header.kid), !signer.revocation.isRevoked else { throw .keyUnknown }
    guard signer.key.algorithm.rawValue == token.header.alg else { throw .algorithmNotAllowed }
    let isValid: Bool
    do throws(CryptoError) { isValid = try signer.key.isValid(token.signature, for: token.signedBytes) } catch {
      throw .signatureInvalid
    }
    guard isValid else { throw .signatureInvalid }
    return signer
  }

  /// Returns this set with the unchanged signers of `before`, so that their credentials stay valid; revokes the other
  /// signers.
  func replacing(_ before: TokenKeySet) -> TokenKeySet {
    var set = self
    for (kid, signer) in before.signers {
      if signers[kid]?.material == signer.material { set.signers[kid] = signer } else { signer.revocation.revoke() }
    }
    return set
  }
}
