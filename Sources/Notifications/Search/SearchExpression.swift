/// Builds a query in the language of the index (FTS5). External text always appears in a string literal, in which only
/// the quote has a meaning, and quotes are doubled.
enum SearchExpression {
  private static let textColumns = "{title subtitle body}"

  /// A term, or the terms that may match in its place.
  enum Alternative: Sendable, Hashable {
    case term(SearchTerm)
    /// Any of these words or prefixes.
    case anyOf([SearchTerm])
  }

  /// Returns a query for matches in this bucket that have all of `required` and none of `excluded`. The words carry
  /// their user's key.
  static func text(bucketWord: String?, required: [Alternative], excluded: [SearchTerm]) -> String {
    let wanted = "\(textColumns) : (\(required.map(text).joined(separator: " AND ")))"
    let scoped = bucketWord.map { "scope : \(quoted($0)) AND \(wanted)" } ?? wanted
    if excluded.isEmpty { return scoped }
    return "(\(scoped)) NOT \(textColumns) : (\(excluded.map(text).joined(separator: " OR ")))"
  }

  private static func text(_ alternative: Alternative) -> String {
    switch alternative {
    case .term(let term): text(term)
    case .anyOf(let terms): "(\(terms.map(text).joined(separator: " OR ")))"
    }
  }

  private static func text(_ term: SearchTerm) -> String { quoted(term.text) + (term.isPrefix ? "*" : "") }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      if scalar == "\"" { result.unicodeScalars.append("\"") }
      result.unicodeScalars.append(scalar)
    }
    return result + "\""
  }
}
