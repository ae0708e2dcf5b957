public import CampanileCodec

/// Rules for single values.
public enum TextRules {
  /// Whether a text has 1 to 128 characters of `[A-Za-z0-9._:-]`.
  public static func isIdentifier(_ text: String) -> Bool {
    (1...128).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        isLetter(byte) || isDigit(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
          || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "-")
      }
  }

  /// Whether a text is `type/subtype` as defined by RFC 6838, without parameters and with at most 127 characters.
  public static func isMediaType(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard text.utf8.count <= 127, parts.count == 2 else { return false }
    return parts.allSatisfy { part in
      guard let first = part.first, isLetter(first) || isDigit(first) else { return false }
      return part.allSatisfy { isLetter($0) || isDigit($0) || Self.mediaTypeMarks.contains($0) }
    }
  }

  private static let mediaTypeMarks = Set("!#$&-^_.+".utf8)

  public static func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }
  public static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
  public static func isHexDigit(_ byte: UInt8) -> Bool {
    isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
  }
}

extension Violations {
  /// Checks that a text is an absolute http or https URL. The contract's constraint limits its length.
  public mutating func webURL(_ value: String, _ field: @autoclosure () -> String) {
    if value.isEmpty {
      add(field(), "must not be empty", .required)
    } else if value.unicodeScalars.count <= URLRules.sizeMax, !URLRules.isWebURL(value[...]) {
      add(field(), "must be an absolute http or https URL", .urlInvalid)
    }
  }
}
