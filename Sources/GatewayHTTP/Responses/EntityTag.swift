/// Conversion between the etags of messages and HTTP entity tags (RFC 9110 section 8.8.3).
enum EntityTag {
  static let bytesMax = 256

  enum Condition: Sendable, Hashable {
    /// `*`: any existing version.
    case any
    /// The etag of a single strong tag.
    case one(String)
    /// No usable tag: several tags, a weak one, or invalid text.
    case unusable
  }

  /// Parses the value of `If-Match`.
  static func condition(_ value: String) -> Condition {
    let text = value.trimmingSpaces
    if text == "*" { return .any }
    guard text.utf8.count >= 2, text.utf8.count <= bytesMax, text.hasPrefix("\""), text.hasSuffix("\"") else {
      return .unusable
    }
    let inner = text.dropFirst().dropLast()
    return isPlain(inner) ? .one(String(inner)) : .unusable
  }

  /// Returns the entity tag of an etag; nil if a header cannot carry it.
  static func header(_ etag: String) -> String? {
    guard !etag.isEmpty, etag.utf8.count <= bytesMax, isPlain(etag[...]) else { return nil }
    return "\"\(etag)\""
  }

  /// Returns whether `If-None-Match` lists the etag, by weak comparison (RFC 9110 section 13.1.2).
  static func noneMatch(_ value: String, names etag: String) -> Bool {
    if value.trimmingSpaces == "*" { return true }
    guard let tag = header(etag) else { return false }
    return value.split(separator: ",").contains { candidate in
      let text = String(candidate).trimmingSpaces
      return text == tag || text == "W/\(tag)"
    }
  }

  private static func isPlain(_ text: Substring) -> Bool {
    text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") }
  }
}

extension String {
  /// The string without leading and trailing spaces and tabs.
  package var trimmingSpaces: String {
    var text = self[...]
    while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return String(text)
  }
}
