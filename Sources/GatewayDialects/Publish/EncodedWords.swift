import CampanileBase

/// Encoded words in headers (RFC 2047), which programs use that cannot send UTF-8: `=?UTF-8?B?8J+HqQ==?=`.
enum EncodedWords {
  /// Returns the text with its encoded words decoded. Nil if an encoded word is not UTF-8 or is malformed, or if the
  /// header's bytes were not UTF-8.
  static func decoded(_ text: String) -> String? {
    // The HTTP parser has replaced bytes that are not UTF-8.
    guard !text.unicodeScalars.contains("\u{FFFD}") else { return nil }
    guard text.contains("=?") else { return text }
    var result = ""
    var rest = text[...]
    while let start = rest.firstRange(of: "=?") {
      let before = rest[..<start.lowerBound]
      // Space between two encoded words is not part of the text (section 6.2).
      if result.isEmpty || !before.allSatisfy({ $0 == " " || $0 == "\t" }) { result += before }
      let parts = rest[start.upperBound...].split(separator: "?", maxSplits: 3, omittingEmptySubsequences: false)
      guard parts.count == 4, parts[3].first == "=", let word = word(parts[0], parts[1], parts[2]) else { return nil }
      result += word
      rest = parts[3].dropFirst()
    }
    return result + rest
  }

  private static func word(_ charset: Substring, _ encoding: Substring, _ content: Substring) -> String? {
    guard ["utf-8", "us-ascii"].contains(charset.lowercased()) else { return nil }
    let bytes: [UInt8]?
    switch encoding.lowercased() {
    case "b": bytes = base64(content)
    case "q": bytes = quoted(content)
    default: bytes = nil
    }
    return bytes.flatMap { String(validating: $0, as: UTF8.self) }
  }

  /// Decodes Base64; nil for other text.
  static func base64(_ text: some StringProtocol) -> [UInt8]? {
    Array(text.utf8).withUnsafeBufferPointer { Base64.decode($0) }
  }

  private static func quoted(_ content: Substring) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = content.utf8[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "_"): bytes.append(UInt8(ascii: " "))
      case UInt8(ascii: "="):
        guard let digits = String(validating: rest.prefix(2), as: UTF8.self),
          let value = Hexadecimal.bytes(digits.lowercased()), value.count == 1
        else { return nil }
        bytes += value
        rest = rest.dropFirst(2)
      default: bytes.append(byte)
      }
    }
    return bytes
  }
}
