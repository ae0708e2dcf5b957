import CampanileBase

/// A provider token for APNs: a JSON Web Token (RFC 7519) with `alg` and `kid` in its header and `iss` and `iat` in its
/// claims.
public enum ProviderToken {
  /// Signs a token.
  ///
  /// - Parameters:
  ///   - keyID: 1 to 64 letters and digits; Apple's ids have ten upper-case ones.
  ///   - teamID: Like `keyID`.
  ///   - issuedAtSeconds: Unix time.
  /// - Throws: `signatureFailed`, also for ids with other characters, which would need escapes in JSON.
  public static func make(
    key: ES256PrivateKey, keyID: String, teamID: String, issuedAtSeconds: Int64
  ) throws(CryptoError) -> String {
    guard isIdentifier(keyID), isIdentifier(teamID) else {
      throw CryptoError(.signatureFailed, "key and team ids must be 1 to 64 letters and digits")
    }
    let header = Base64URL.encode(Array(#"{"alg":"ES256","kid":"\#(keyID)","typ":"JWT"}"#.utf8))
    let claims = Base64URL.encode(Array(#"{"iss":"\#(teamID)","iat":\#(issuedAtSeconds)}"#.utf8))
    let signed = "\(header).\(claims)"
    return "\(signed).\(Base64URL.encode(try key.sign(Array(signed.utf8)).raw))"
  }

  private static func isIdentifier(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "a")...UInt8(ascii: "z"):
          true
        default: false
        }
      }
  }
}
