/// Parts of a path as text.
enum PathText {
  /// A name as it is written between its quotes, as a token of a JSON Pointer (RFC 6901, section 3). One that was cut
  /// within a character or escape is repaired.
  static func token(ofRawName name: [UInt8]) -> String {
    var bytes: [UInt8] = []
    var unescaper = Unescaper()
    name.withUnsafeBytes { raw in unescaper.feed(raw) { bytes.append($0) } }
    return escaped(String(decoding: bytes, as: UTF8.self))
  }

  /// `~` as `~0` and `/` as `~1`.
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
