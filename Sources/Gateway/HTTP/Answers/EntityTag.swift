/// Entity tags (RFC 9110 section 8.8.3) of etags as the messages have them.
enum EntityTag {
  static let bytesMax = 256

  enum Condition: Sendable, Hashable {
    /// `*`: whatever is there.
    case any
    /// One strong tag's etag.
    case one(String)
    /// What no etag equals: several tags, a weak one, or none at all.
    case unusable
  }

  /// What `If-Match` asks for.
  static func condition(_ value: String) -> Condition {
    let text = value.trimmingSpaces
    if text == "*" { return .any }
    guard text.utf8.count >= 2, text.utf8.count <= bytesMax, text.hasPrefix("\""), text.hasSuffix("\"") else {
      return .unusable
    }
    let inner = text.dropFirst().dropLast()
    return isPlain(inner) ? .one(String(inner)) : .unusable
  }

  /// The header's value; `nil` for an etag that a header cannot carry.
  static func header(_ etag: String) -> String? {
    guard !etag.isEmpty, etag.utf8.count <= bytesMax, isPlain(etag[...]) else { return nil }
    return "\"\(etag)\""
  }

  /// Whether `If-None-Match` names the etag, by the weak comparison (RFC 9110 section 13.1.2).
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
  /// Without spaces and tabs at both ends.
  var trimmingSpaces: String {
    var text = self[...]
    while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return String(text)
  }
}
