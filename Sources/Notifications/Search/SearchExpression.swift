import CampanileService

/// The query in the index's own language (FTS5). Every text that comes from outside stands inside a string literal, where
/// nothing but the quote has a meaning, and quotes are doubled.
enum SearchExpression {
  private static let textColumns = "{title subtitle body}"

  /// How a term is looked for.
  enum Alternative: Sendable, Hashable {
    case term(SearchQuery.Term)
    /// One of these words, or words that begin so.
    case anyOf([SearchQuery.Term])
  }

  /// Whatever matches is of this user and bucket, has all of `required` and none of `excluded`.
  static func text(user: String, bucketID: String?, required: [Alternative], excluded: [SearchQuery.Term]) -> String {
    var parts = ["scope : \(quoted(userWord(user)))"]
    if let bucketID { parts.append("scope : \(quoted(bucketWord(bucketID)))") }
    parts.append("\(textColumns) : (\(required.map(text).joined(separator: " AND ")))")
    let wanted = parts.joined(separator: " AND ")
    if excluded.isEmpty { return wanted }
    return "(\(wanted)) NOT \(textColumns) : (\(excluded.map(text).joined(separator: " OR ")))"
  }

  /// What stands in the column `scope` of a document.
  static func scope(user: String, bucketID: String) -> String { "\(userWord(user)) \(bucketWord(bucketID))" }

  /// Hexadecimal, since the tokenizer would cut an id into pieces.
  private static func userWord(_ user: String) -> String { "u" + Hexadecimal.text(user.utf8) }
  private static func bucketWord(_ id: String) -> String { "b" + Hexadecimal.text(id.utf8) }

  private static func text(_ alternative: Alternative) -> String {
    switch alternative {
    case .term(let term): text(term)
    case .anyOf(let terms): "(\(terms.map(text).joined(separator: " OR ")))"
    }
  }

  private static func text(_ term: SearchQuery.Term) -> String { quoted(term.text) + (term.isPrefix ? "*" : "") }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      if scalar == "\"" { result.unicodeScalars.append("\"") }
      result.unicodeScalars.append(scalar)
    }
    return result + "\""
  }
}
