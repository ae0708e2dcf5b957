/// A provider token of APNs: a JSON Web Token (RFC 7519) with `alg` and `kid` in its header, `iss` and `iat` in its claims.
public enum ProviderToken {
  /// Signs a token. `keyID` and `teamID` are ten upper-case letters and digits; `issuedAtSeconds` is in Unix time.
  ///
  /// Throws `signatureFailed`, also for other ids, which would not be JSON texts as they are.
  public static func make(
    key: ES256PrivateKey, keyID: String, teamID: String, issuedAtSeconds: Int64
  ) throws(CryptoError) -> String {
    guard isIdentifier(keyID), isIdentifier(teamID) else {
      throw CryptoError(.signatureFailed, "key and team ids are letters and digits, 1 to 64 of them")
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
