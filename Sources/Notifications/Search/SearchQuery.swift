import CampanileCodec
import CampanileService

/// A parsed query.
///
/// The syntax is that of `SearchNotificationsRequest.query`. Text without letters or digits is ignored.
struct SearchQuery: Sendable, Hashable {
  static let termsMax = 16

  /// A word or a phrase.
  struct Term: Sendable, Hashable {
    var text: String
    /// Whether the last word matches as a prefix.
    var isPrefix = false
  }

  /// Terms that must all occur; at least one.
  var required: [Term] = []
  /// Terms that must not occur.
  var excluded: [Term] = []

  /// Parses a query. Returns nil and adds violations of `field` for an invalid one: `REQUIRED`, `TOO_MANY`,
  /// `QUERY_QUOTES_UNBALANCED`, `QUERY_ONLY_NEGATIVE`.
  init?(_ text: String, field: String, _ violations: inout Violations) {
    var parser = Parser(rest: text.unicodeScalars[...])
    var last: Parser.Part?
    while let part = parser.next() {
      guard let part = part.term else {
        violations.add(field, "has a quote that is not closed", .queryQuotesUnbalanced)
        return nil
      }
      guard Self.hasWord(part.text) else { continue }
      guard required.count + excluded.count < Self.termsMax else {
        violations.add(field, "must have at most \(Self.termsMax) terms", .tooMany)
        return nil
      }
      last = part
      let term = Term(text: part.text, isPrefix: part.isPrefix)
      if part.isExcluded { excluded.append(term) } else { required.append(term) }
    }
    guard !required.isEmpty else {
      if excluded.isEmpty {
        violations.add(field, "must have a word", .required)
      } else {
        violations.add(field, "must have a word that is not excluded", .queryOnlyNegative)
      }
      return nil
    }
    if let last, !last.isExcluded, !last.isPhrase { required[required.count - 1].isPrefix = true }
  }

  /// Whether the text has a word in the sense of the index.
  private static func hasWord(_ text: String) -> Bool { text.unicodeScalars.contains(where: WordScalars.begins) }
}

/// Splits a query into its parts.
private struct Parser {
  struct Part {
    var text: String
    var isExcluded = false
    var isPhrase = false
    var isPrefix = false
  }

  enum Step {
    case part(Part)
    case unbalanced

    var term: Part? { if case .part(let part) = self { part } else { nil } }
  }

  var rest: Substring.UnicodeScalarView

  mutating func next() -> Step? {
    rest = rest.drop(while: \.properties.isWhitespace)
    guard let first = rest.first else { return nil }
    var part = Part(text: "")
    if first == "-" {
      part.isExcluded = true
      rest = rest.dropFirst()
    }
    if rest.first == "\"" {
      rest = rest.dropFirst()
      guard let end = rest.firstIndex(of: "\"") else { return .unbalanced }
      part.text = String(rest[..<end])
      part.isPhrase = true
      rest = rest[rest.index(after: end)...]
      if rest.first == "*" {
        part.isPrefix = true
        rest = rest.dropFirst()
      }
      return .part(part)
    }
    let word = rest.prefix { !$0.properties.isWhitespace && $0 != "\"" }
    rest = rest[word.endIndex...]
    part.isPrefix = word.last == "*"
    part.text = String(word)
    return .part(part)
  }
}
