import NIOHTTP1

/// Names, writes and reads one cookie of the console (RFC 6265).
struct CookieFormat: Sendable {
  private static let valueBytesMax = 64

  /// The name over plain HTTP. Over TLS it has the prefix `__Host-`, which browsers protect.
  let plainName: String
  let isSecure: Bool
  let sameSite: String

  var name: String { isSecure ? "__Host-\(plainName)" : plainName }

  /// Returns the header that sets the cookie, or with an empty value clears it.
  func header(_ value: String, maxAgeS: Int64) -> DialectAnswer.Header {
    DialectAnswer.Header(
      name: "Set-Cookie",
      value: "\(name)=\(value); Path=/; Max-Age=\(max(0, maxAgeS)); HttpOnly; SameSite=\(sameSite)"
        + (isSecure ? "; Secure" : ""))
  }

  /// Returns the cookie's value; nil without one, and if there are two, because another site of the same domain may
  /// have set one of them.
  func value(in headers: HTTPHeaders) -> String? {
    var found: [Substring] = []
    for header in headers["cookie"] {
      for pair in header.split(separator: ";") {
        let text = pair.drop { $0 == " " || $0 == "\t" }
        guard let equals = text.firstIndex(of: "="), text[..<equals] == name else { continue }
        found.append(text[text.index(after: equals)...])
      }
    }
    guard found.count == 1, let value = found.first.map({ String($0).trimmingSpaces }),
      value.utf8.count <= Self.valueBytesMax
    else { return nil }
    return value
  }
}
