import CampanileBase
import CampanileCodec
import CampanileCrypto
import Foundation

/// The reason to reject a token. Callers learn only whether it has expired; the log has the reason.
enum TokenFault: Error, Sendable, Hashable {
  case malformed
  /// `none`, an unsupported algorithm, or an algorithm other than the key's.
  case algorithmNotAllowed
  case keyUnknown
  case signatureInvalid
  case expired
  case notYetValid
  case issuerWrong
  case audienceWrong
  case subjectInvalid
  case deviceInvalid
  case typeWrong
  /// The token was issued for another sign-in, or to another client.
  case nonceWrong
}

/// A JSON Web Token in its compact form (RFC 7519, RFC 7515 section 3.1), parsed but not yet verified.
struct JSONWebToken: Sendable {
  /// The maximum size; longer tokens are rejected without being parsed.
  static let sizeBytesMax = 4096
  static let depthMax = 32

  struct Header: Sendable, Decodable {
    var alg: String
    var kid: String?
    var typ: String?
    /// Extensions that the recipient must understand. None is supported.
    var crit: [String]?

    /// The type in lower case and without `application/` (RFC 7515 section 4.1.9).
    var type: String? {
      typ.map { typ in
        let type = typ.lowercased()
        return type.hasPrefix("application/") ? String(type.dropFirst("application/".count)) : type
      }
    }
  }

  struct Claims: Sendable, Decodable {
    var iss: String?
    var sub: String?
    var aud: Texts?
    /// Seconds since 1970, possibly with a fraction.
    var exp: Double?
    var nbf: Double?
    var scope: Texts?
    var scp: Texts?
    /// The value of the request for an ID token (OpenID Connect Core section 2).
    var nonce: String?
    /// The client to which a token with several audiences was issued.
    var azp: String?
    /// The device that the token is bound to.
    var device: String?

    enum CodingKeys: String, CodingKey {
      case iss, sub, aud, exp, nbf, scope, scp, nonce, azp
      case device = "campanile_device"
    }
  }

  /// A string or a list of strings.
  struct Texts: Sendable, Decodable {
    var all: [String]

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let one = try? container.decode(String.self) { all = [one] } else { all = try container.decode([String].self) }
    }

    init(_ all: [String]) { self.all = all }
  }

  let header: Header
  let claims: Claims
  let signedBytes: [UInt8]
  let signature: [UInt8]

  /// Reports whether a text looks like a token rather than another credential: a token begins with `{"` in base64url.
  static func isPlausible(_ text: String) -> Bool { text.hasPrefix("eyJ") }

  init(_ text: String) throws(TokenFault) {
    guard text.utf8.count <= Self.sizeBytesMax else { throw .malformed }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Base64URL.decode(String(parts[0])),
      let claims = Base64URL.decode(String(parts[1])), let signature = Base64URL.decode(String(parts[2]))
    else { throw .malformed }
    self.header = try Self.decode(Header.self, header)
    self.claims = try Self.decode(Claims.self, claims)
    signedBytes = Array(text.utf8.prefix(parts[0].utf8.count + 1 + parts[1].utf8.count))
    self.signature = signature
  }

  private static func decode<T: Decodable>(_ type: T.Type, _ bytes: [UInt8]) throws(TokenFault) -> T {
    guard isUnambiguous(bytes) else { throw .malformed }
    do { return try JSONDecoder().decode(type, from: Data(bytes)) } catch { throw .malformed }
  }

  /// Reports whether the bytes are one JSON value without duplicate member names. Two parsers could read duplicates
  /// differently (RFC 7519 section 4).
  private static func isUnambiguous(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { bytes in
      var reader = JSONReader(bytes, options: JSONDecodingOptions(maxDepth: depthMax))
      do throws(ProtoJSONError) {
        _ = try reader.rawValue()
        try reader.finish()
        return true
      } catch {
        return false
      }
    }
  }
}
