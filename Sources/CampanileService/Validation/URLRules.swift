/// Rules for the URLs that a notification may contain: the syntax of RFC 3986 as far as safety requires.
public enum URLRules {
  public static let sizeMax = 2_048

  /// Schemes that run code or read data of the device when they are opened.
  private static let refusedSchemes: Set<String> = [
    "about", "blob", "content", "data", "file", "filesystem", "javascript", "vbscript",
  ]

  /// Whether a text is `http` or `https`, `://` and a host, without characters that RFC 3986 excludes from URLs.
  public static func isWebURL(_ text: Substring) -> Bool { authority(text).map(hasHost) ?? false }

  /// Whether a web URL contains `user@` or `user:password@`, which would appear in responses and logs.
  public static func hasUserInformation(_ text: Substring) -> Bool {
    authority(text)?.contains(UInt8(ascii: "@")) ?? false
  }

  /// Returns the part between `//` and the path of a web URL, or nil for other texts.
  private static func authority(_ text: Substring) -> Substring.UTF8View? {
    guard let (scheme, rest) = split(text), scheme == "http" || scheme == "https", rest.starts(with: "//".utf8)
    else { return nil }
    return rest.dropFirst(2).prefix { byte in
      byte != UInt8(ascii: "/") && byte != UInt8(ascii: "?") && byte != UInt8(ascii: "#")
    }
  }

  /// Whether a text is a web URL, or a URL with the scheme of an app (`zentik://…`, `tel:…`). Rejects schemes that run
  /// code.
  public static func isNavigable(_ text: Substring) -> Bool {
    guard let (scheme, rest) = split(text), !rest.isEmpty else { return false }
    if scheme == "http" || scheme == "https" { return isWebURL(text) }
    return !refusedSchemes.contains(scheme)
  }

  /// Returns the scheme in lower case and the rest after the colon, or nil without a scheme or with an invalid
  /// character.
  private static func split(_ text: Substring) -> (scheme: String, rest: Substring.UTF8View)? {
    let bytes = text.utf8
    guard bytes.count <= sizeMax, bytes.allSatisfy(isURLByte), let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
      let first = bytes.first, TextRules.isLetter(first)
    else { return nil }
    let scheme = bytes[..<colon]
    guard
      scheme.allSatisfy({ byte in
        TextRules.isLetter(byte) || TextRules.isDigit(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
          || byte == UInt8(ascii: ".")
      })
    else { return nil }
    return (Substring(scheme).lowercased(), bytes[bytes.index(after: colon)...])
  }

  /// Parses the authority `[userinfo@]host[:port]`. Accepts names in other scripts as UTF-8 (RFC 3987).
  private static func hasHost(_ authority: Substring.UTF8View) -> Bool {
    let afterUser = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[authority.index(after: $0)...] }
    let hostPort = afterUser ?? authority
    if hostPort.first == UInt8(ascii: "[") {
      guard let end = hostPort.firstIndex(of: UInt8(ascii: "]")) else { return false }
      let address = hostPort[hostPort.index(after: hostPort.startIndex)..<end]
      return address.count >= 2
        && address.allSatisfy { TextRules.isHexDigit($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") }
        && isPort(hostPort[hostPort.index(after: end)...])
    }
    guard let colon = hostPort.firstIndex(of: UInt8(ascii: ":")) else { return !hostPort.isEmpty }
    return colon > hostPort.startIndex && isPort(hostPort[colon...])
  }

  /// Whether a text is empty, or a colon and at most five digits with a value up to 65535.
  private static func isPort(_ text: Substring.UTF8View) -> Bool {
    guard let first = text.first else { return true }
    let digits = text.dropFirst()
    guard first == UInt8(ascii: ":"), digits.count <= 5, digits.allSatisfy(TextRules.isDigit) else { return false }
    return digits.isEmpty || (Int(Substring(digits)) ?? .max) <= 65_535
  }

  /// Rejects white space, control characters and the bytes that RFC 3986 excludes (`"<>\^`{|}`).
  private static func isURLByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0...0x20, 0x7F, UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
      UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
      false
    default: true
    }
  }
}
