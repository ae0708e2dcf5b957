import CampanileService

/// A text with variables: `{{name}}` is replaced by a value, `{{name|text}}` by a value or, if there is none, by
/// `text`.
///
/// Names have 1 to 64 ASCII letters, digits and underscores. A default text contains neither `{{` nor `}}`. All other
/// braces are literal, including a `}}` without an opening. Values are inserted literally: braces in them have no
/// meaning.
struct TemplateText: Sendable, Hashable {
  static let nameMax = 64

  enum Part: Sendable, Hashable {
    case text(String)
    case variable(name: String, whenMissing: String?)
  }

  /// A syntax error: its description and its offset from the beginning, in bytes of UTF-8.
  struct Fault: Error, Sendable, Hashable {
    var description: String
    var offsetBytes: Int
  }

  let parts: [Part]

  /// Throws if `{{` has no `}}`, or if the text between them is not a variable.
  init(_ text: String) throws(Fault) {
    let open = Array("{{".utf8)
    let close = Array("}}".utf8)
    let bytes = text.utf8
    var parts: [Part] = []
    var rest = bytes[...]
    while let start = rest.firstRange(of: open) {
      if start.lowerBound > rest.startIndex { parts.append(.text(String(Substring(rest[..<start.lowerBound])))) }
      let offset = bytes.distance(from: bytes.startIndex, to: start.lowerBound)
      let inside = rest[start.upperBound...]
      guard let end = inside.firstRange(of: close) else {
        throw Fault(description: "{{ without }}", offsetBytes: offset)
      }
      parts.append(try Self.variable(inside[..<end.lowerBound], open, offset))
      rest = inside[end.upperBound...]
    }
    if !rest.isEmpty { parts.append(.text(String(Substring(rest)))) }
    self.parts = parts
  }

  /// Reports whether a name has 1 to 64 ASCII letters, digits and underscores.
  static func isName(_ name: some Collection<UInt8>) -> Bool {
    (1...nameMax).contains(name.count)
      && name.allSatisfy { TextRules.isLetter($0) || TextRules.isDigit($0) || $0 == UInt8(ascii: "_") }
  }

  /// Returns the text with its values inserted. A variable without a value and without a default text is replaced by
  /// nothing.
  ///
  /// - Returns: Nil if the result would exceed `sizeBytesMax` bytes; rendering stops there.
  func rendered(_ values: [String: String], sizeBytesMax: Int) -> String? {
    var result = ""
    var sizeBytes = 0
    for part in parts {
      let piece =
        switch part {
        case .text(let text): text
        case .variable(let name, let whenMissing): values[name] ?? whenMissing ?? ""
        }
      sizeBytes += piece.utf8.count
      if sizeBytes > sizeBytesMax { return nil }
      result += piece
    }
    return result
  }

  private static func variable(_ inside: Substring.UTF8View, _ open: [UInt8], _ offset: Int) throws(Fault) -> Part {
    let bar = inside.firstIndex(of: UInt8(ascii: "|"))
    let name = inside[..<(bar ?? inside.endIndex)]
    guard isName(name) else {
      throw Fault(
        description: "a variable must have a name of 1 to \(nameMax) letters, digits and underscores",
        offsetBytes: offset)
    }
    guard let bar else { return .variable(name: String(Substring(name)), whenMissing: nil) }
    let whenMissing = inside[inside.index(after: bar)...]
    if whenMissing.firstRange(of: open) != nil {
      throw Fault(description: "the text for a missing value must not contain {{", offsetBytes: offset)
    }
    return .variable(name: String(Substring(name)), whenMissing: String(Substring(whenMissing)))
  }
}
