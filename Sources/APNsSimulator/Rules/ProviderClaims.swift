import APNs
import CampanileBase
import CampanileCodec
import CampanileCrypto

/// The contents of a provider token.
///
/// It is a JSON Web Token with the header `alg`, `kid` and the claims `iss`, `iat` (RFC 7519; "Establishing a
/// token-based connection to APNs").
struct ProviderClaims: Sendable, Hashable {
  var keyID: String
  var teamID: String
  var issuedAtSeconds: Int64

  /// Maximum bytes of `authorization` that are parsed.
  static let fieldBytesMax = 2048

  /// A token with its signature and the signed bytes.
  struct Signed: Sendable, Hashable {
    var token: ProviderClaims
    var signingInput: [UInt8]
    var signature: ES256Signature
  }

  /// Parses the value of `authorization`. Throws a description of what is invalid.
  static func parse(_ field: String) throws(ProviderClaimsError) -> Signed {
    guard field.utf8.count <= fieldBytesMax else { throw ProviderClaimsError("longer than \(fieldBytesMax) bytes") }
    guard field.prefix(APNsHeader.bearer.count).lowercased() == APNsHeader.bearer else {
      throw ProviderClaimsError("authorization does not begin with \(APNsHeader.bearer)")
    }
    let text = field.dropFirst(APNsHeader.bearer.count)
    let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3 else { throw ProviderClaimsError("not three parts") }
    guard let header = Base64URL.decode(parts[0]), let claims = Base64URL.decode(parts[1]),
      let raw = Base64URL.decode(parts[2])
    else { throw ProviderClaimsError("a part is not base64url") }
    guard let signature = ES256Signature(raw: raw) else {
      throw ProviderClaimsError("the signature has \(raw.count) bytes, not \(ES256Signature.sizeBytes)")
    }
    let head = try members(header, "header")
    let body = try members(claims, "claims")
    guard head.texts["alg"] == ProviderTokenRules.algorithm else {
      throw ProviderClaimsError("alg is not \(ProviderTokenRules.algorithm)")
    }
    guard let keyID = head.texts["kid"], !keyID.isEmpty else { throw ProviderClaimsError("kid is missing") }
    guard let teamID = body.texts["iss"], !teamID.isEmpty else { throw ProviderClaimsError("iss is missing") }
    guard let issuedAt = body.numbers["iat"] else { throw ProviderClaimsError("iat is not a whole number") }
    return Signed(
      token: ProviderClaims(keyID: keyID, teamID: teamID, issuedAtSeconds: issuedAt),
      signingInput: Array("\(parts[0]).\(parts[1])".utf8), signature: signature)
  }

  /// Returns the members that are strings or whole numbers.
  private static func members(
    _ json: [UInt8], _ part: String
  ) throws(ProviderClaimsError) -> (texts: [String: String], numbers: [String: Int64]) {
    let result = json.withUnsafeBytes { bytes in
      Result { () throws(ProtoJSONError) in
        var texts: [String: String] = [:]
        var numbers: [String: Int64] = [:]
        var reader = JSONReader(bytes, options: JSONDecodingOptions(maxDepth: 8))
        var more = try reader.beginObject()
        while more {
          let name = try reader.stringKey()
          switch reader.peek() {
          case UInt8(ascii: "\""): texts[name] = try reader.string()
          case UInt8(ascii: "0")...UInt8(ascii: "9"):
            // Numbers with a fraction are ignored.
            let value = try reader.double()
            numbers[name] = Int64(exactly: value)
          default: try reader.skipValue()
          }
          more = try reader.nextMember()
        }
        try reader.finish()
        return (texts: texts, numbers: numbers)
      }
    }
    guard case .success(let members) = result else { throw ProviderClaimsError("the \(part) is not a JSON object") }
    return members
  }
}

/// A description of an invalid provider token.
struct ProviderClaimsError: Error, Sendable, Hashable {
  var detail: String
  init(_ detail: String) { self.detail = detail }
}
