import CampanileCrypto
import Foundation

/// What keeps a token from being accepted. Callers are told only whether it has expired; the log tells the rest.
enum TokenFault: Error, Sendable, Hashable {
  case malformed
  /// `none`, an algorithm that no key is for, or another one than the key's.
  case algorithmNotAllowed
  case keyUnknown
  case signatureInvalid
  case expired
  case notYetValid
  case issuerWrong
  case audienceWrong
  case subjectInvalid
}

/// A JSON Web Token in its compact form (RFC 7519, RFC 7515 section 3.1), cut apart and not yet believed.
struct JSONWebToken: Sendable {
  /// Longer ones are refused unread.
  static let sizeBytesMax = 4096

  struct Header: Sendable, Decodable {
    var alg: String
    var kid: String?
    var typ: String?
    /// Extensions that must be understood. None is.
    var crit: [String]?
  }

  struct Claims: Sendable, Decodable {
    var iss: String?
    var sub: String?
    var aud: Texts?
    /// Seconds since 1970, with a fraction where the issuer gives one.
    var exp: Double?
    var nbf: Double?
    var scope: Texts?
    var scp: Texts?
  }

  /// A text, or a list of texts.
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

  /// Whether a text looks like a token rather than another credential: what begins with `{"` in base64url.
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
    do { return try JSONDecoder().decode(type, from: Data(bytes)) } catch { throw .malformed }
  }
}
