import CampanileBase
import CampanileRPC
import GatewayHTTP
import NIOHTTP1

/// Session cookies (RFC 6265).
enum SessionCookie {
  static let valueBytesMax = 256

  /// Returns the value of the cookie with this name; nil without one. A value that cannot be a token becomes `-`.
  ///
  /// - Throws: INVALID_ARGUMENT `REQUEST_INVALID` if the cookie is given twice, because parsers could disagree on the
  ///   one that counts.
  static func value(_ name: String, _ request: RequestHead) throws(RPCError) -> String? {
    var found: [Substring] = []
    for header in request.headers["cookie"] {
      for pair in header.split(separator: ";") {
        let text = pair.drop { $0 == " " || $0 == "\t" }
        guard let equals = text.firstIndex(of: "="), text[..<equals] == name else { continue }
        found.append(text[text.index(after: equals)...])
      }
    }
    guard found.count <= 1 else {
      throw RPCError(.invalidArgument, "the cookie \(name) is given twice", reason: "REQUEST_INVALID", processed: false)
    }
    guard let value = found.first.map({ String($0).trimmingSpaces }), !value.isEmpty else { return nil }
    let isToken =
      value.utf8.count <= valueBytesMax
      && value.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
          true
        default: false
        }
      }
    // An invalid token is a session that does not exist; the service reports that.
    return isToken ? value : "-"
  }

  /// Whether links on other sites' pages send the cookie.
  enum SameSite: String {
    case lax = "Lax"
    case strict = "Strict"
  }

  /// Returns a header that sets the cookie for a dialect's paths. Scripts cannot read it, and other sites' pages do not
  /// send it.
  static func set(
    _ name: String, _ value: String, path: String, maxAgeS: Int64, isSecure: Bool, sameSite: SameSite = .lax
  ) -> DialectAnswer.Header {
    DialectAnswer.Header(
      name: "Set-Cookie",
      value: "\(name)=\(value); Path=\(path); Max-Age=\(max(0, maxAgeS)); HttpOnly; SameSite=\(sameSite.rawValue)"
        + (isSecure ? "; Secure" : ""))
  }

  static func clear(_ name: String, path: String, isSecure: Bool) -> DialectAnswer.Header {
    set(name, "", path: path, maxAgeS: 0, isSecure: isSecure)
  }
}
