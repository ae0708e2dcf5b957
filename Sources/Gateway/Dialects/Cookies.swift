import CampanileRPC
import NIOHTTP1

/// Cookies (RFC 6265) that carry a session.
enum SessionCookie {
  static let valueBytesMax = 256

  /// The value of the cookie with this name; `nil` without one, and for one that no session has.
  ///
  /// Throws INVALID_ARGUMENT `REQUEST_INVALID` for two of the name: which of them counts no two readers must decide differently.
  static func value(_ name: String, _ request: HTTPRequestText) throws(RPCError) -> String? {
    var found: [Substring] = []
    for header in request.headers["cookie"] {
      for pair in header.split(separator: ";") {
        let text = pair.drop { $0 == " " || $0 == "\t" }
        guard let equals = text.firstIndex(of: "="), text[..<equals] == name else { continue }
        found.append(text[text.index(after: equals)...])
      }
    }
    guard found.count <= 1 else {
      throw RPCError(.invalidArgument, "the cookie \(name) comes twice", reason: "REQUEST_INVALID", processed: false)
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
    // Something that is no token is a session that does not exist, and the service says so.
    return isToken ? value : "-"
  }

  /// Sets the cookie for the paths of a dialect; scripts do not see it, and other sites' pages do not send it.
  static func set(_ name: String, _ value: String, path: String, maxAgeS: Int64, isSecure: Bool) -> DialectAnswer.Header
  {
    DialectAnswer.Header(
      name: "Set-Cookie",
      value: "\(name)=\(value); Path=\(path); Max-Age=\(max(0, maxAgeS)); HttpOnly; SameSite=Lax"
        + (isSecure ? "; Secure" : ""))
  }

  static func clear(_ name: String, path: String, isSecure: Bool) -> DialectAnswer.Header {
    set(name, "", path: path, maxAgeS: 0, isSecure: isSecure)
  }
}
