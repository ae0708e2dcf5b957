import CampanileCrypto
import Foundation

/// A key that tokens are signed with.
final class TokenSigner: Sendable {
  let key: TokenKey
  /// The numbers of the key, to tell whether a set that was read again has the same one.
  let material: [String]
  /// Ends every credential that was made with the key, once it is gone from the set.
  let revocation = Revocation()

  init(key: TokenKey, material: [String]) {
    self.key = key
    self.material = material
  }
}

/// The keys of a JSON Web Key Set that this program can use: RSA for RS256 and P-256 for ES256, each for its algorithm alone.
struct TokenKeySet: Sendable {
  static let sizeBytesMax = 256 * 1024
  static let keysMax = 64

  /// By `kid`; the empty one is that of a key without.
  private(set) var signers: [String: TokenSigner] = [:]

  /// The wire form (RFC 7517, RFC 7518 section 6). What a key of another kind has is left out.
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

  /// Reads a set. Keys that are not for signing, of other kinds or for other algorithms are left out. Throws for a text that is no
  /// set, one with a broken key, two keys of one name, or none that can be used.
  init(_ bytes: [UInt8], source: String) throws(CryptoError) {
    guard bytes.count <= Self.sizeBytesMax, let document = try? JSONDecoder().decode(Document.self, from: Data(bytes))
    else { throw CryptoError(.keyMalformed, "\(source): is no JSON Web Key Set") }
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

  /// The key that a token names; where it names none, the only one that there is.
  func signer(named kid: String?) -> TokenSigner? {
    if let kid { return signers[kid] }
    return signers.count == 1 ? signers.values.first : nil
  }

  /// Who signed a token. The key decides the algorithm, never the token: so neither `none` nor a public key used as a secret of
  /// HMAC gets anywhere (RFC 8725 section 3.1).
  func verify(_ token: JSONWebToken) throws(TokenFault) -> TokenSigner {
    guard token.header.crit == nil else { throw .malformed }
    if let type = token.header.typ?.lowercased(), type != "jwt", type != "at+jwt" { throw .malformed }
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

  /// This set with the signers of `before` where the keys are the same, so that what they signed goes on; revokes the others.
  func replacing(_ before: TokenKeySet) -> TokenKeySet {
    var set = self
    for (kid, signer) in before.signers {
      if signers[kid]?.material == signer.material { set.signers[kid] = signer } else { signer.revocation.revoke() }
    }
    return set
  }
}
