import CampanileBase

@testable import CampanileCrypto
@testable import Gateway

/// Untrusted tokens, key sets, PEM, DER and base64url are read or refused, and encoding a decoded value gives the same
/// text.
let tokenTarget = FuzzTarget("token") { input in
  guard let kind = input.first else { return }
  let bytes = Array(input.dropFirst())
  let text = String(decoding: bytes, as: UTF8.self)
  switch kind % 5 {
  case 0:
    if let token = try? JSONWebToken(text) {
      let signed = text.utf8.prefix(token.signedBytes.count)
      require(signed.elementsEqual(token.signedBytes), "different bytes are signed")
      require(text.hasSuffix("." + Base64URL.encode(token.signature)), "different signature: \(shown(bytes))")
    }
  case 1:
    if let set = try? TokenKeySet(bytes, source: "fuzz") {
      require(!set.signers.isEmpty && set.signers.count <= TokenKeySet.keysMax, "a set without a key")
    }
  case 2:
    if let key = try? ES256PrivateKey(pem: bytes, source: "fuzz") {
      require((try? key.sign([1, 2, 3])) != nil, "a key that cannot sign")
    }
    _ = try? ES256PublicKey(pem: bytes, source: "fuzz")
  case 3:
    // Each value has exactly one text.
    if let decoded = Base64URL.decode(text) {
      require(Base64URL.encode(decoded).utf8.elementsEqual(bytes), "a value has two texts")
    }
    require(Base64URL.decode(Base64URL.encode(bytes)) == bytes, "base64url returns different bytes")
  default:
    if let signature = ES256Signature(der: bytes) {
      require(signature.der == bytes, "a signature has two encodings: \(shown(bytes))")
    }
  }
}
