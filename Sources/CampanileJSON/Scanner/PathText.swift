/// Text of JSON Pointer tokens.
enum PathText {
  /// Converts a name in its raw notation to a token of a JSON Pointer (RFC 6901, section 3). Repairs a name that was
  /// truncated within a character or escape.
  static func token(ofRawName name: [UInt8]) -> String {
    var bytes: [UInt8] = []
    var unescaper = Unescaper()
    name.withUnsafeBytes { raw in unescaper.feed(raw) { bytes.append($0) } }
    return escaped(String(decoding: bytes, as: UTF8.self))
  }

  /// Escapes `~` as `~0` and `/` as `~1`.
  static func escaped(_ token: String) -> String {
    guard token.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") }) else { return token }
    var result = ""
    for scalar in token.unicodeScalars {
      switch scalar {
      case "~": result += "~0"
      case "/": result += "~1"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
