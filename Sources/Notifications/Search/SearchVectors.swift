import CampanileStore

/// The full-text index on PostgreSQL: the column `words` of `search_index`, a TSVECTOR.
///
/// SQLite's tokenizer splits all texts, so both engines find the same. PostgreSQL's parser cannot be configured to do
/// it: it has words of its own for hosts, paths and numbers.
///
/// The vectors have no positions, because PostgreSQL stores at most 256 for each word. Phrases are looked up in the
/// texts of the documents that have all their words.
struct SearchVectors {
  /// PostgreSQL's limit is 2,046 bytes. Longer words are found by their beginning and then compared.
  private static let wordBytesMax = 2_000
  /// Number of documents whose texts are compared in one query.
  private static let comparedRows = 500

  static let writeSQL = "UPDATE search_index SET words = $1 WHERE rowid = $2"
  static let searchSQL = """
    SELECT rowid, title, subtitle, body FROM search_index WHERE words @@ $1 AND rowid >= $2 AND rowid < $3
    ORDER BY rowid DESC LIMIT $4
    """

  private let tokenizer: FullTextTokenizer

  init() throws { tokenizer = try FullTextTokenizer() }

  /// Stores the words of a document's texts, which have their user's key already.
  func write(_ document: Int64, _ texts: [String], scope: String, _ transaction: WriteTransaction) throws {
    let words = Set(try texts.flatMap(tokenizer.words).map { Self.lexeme($0) })
    let vector = ([Self.scopeLexeme(scope)] + words.sorted()).joined(separator: " ")
    try transaction.execute(Self.writeSQL, [.text(vector), .integer(document)])
  }

  /// Returns the newest documents in a range of numbers that match a query: one more than the page, if there are more.
  func documents(
    _ query: SearchPageQuery, of user: SearchUser, in range: Range<Int64>, _ transaction: ReadTransaction
  ) throws -> [Int64] {
    let required = try query.query.required.map { try phrase($0, of: user) }
    let excluded = try query.query.excluded.map { try phrase($0, of: user) }
    let expression = Self.expression(
      scope: query.bucketID.map(user.bucketWord), required: required, excluded: excluded)
    let isExact = (required + excluded).allSatisfy(\.isExact)
    let countMax = query.pageSize + 1
    let rowsMax = isExact ? countMax : max(countMax, Self.comparedRows)
    var found: [Int64] = []
    var upper = range.upperBound
    while true {
      var count = 0
      try transaction.forEach(
        Self.searchSQL, [.text(expression), .integer(range.lowerBound), .integer(upper), .int(rowsMax)]
      ) { row in
        count += 1
        upper = try row.integer(0)
        if try isExact || matches(row, required, excluded) { found.append(upper) }
        return true
      }
      if found.count >= countMax || count < rowsMax { return Array(found.prefix(countMax)) }
    }
  }

  private func phrase(_ term: SearchQuery.Term, of user: SearchUser) throws -> Phrase {
    let term = user.term(term)
    return Phrase(words: try tokenizer.words(of: term.text), isPrefix: term.isPrefix)
  }

  private func matches(_ row: borrowing SQLRow, _ required: [Phrase], _ excluded: [Phrase]) throws -> Bool {
    var columns: [[String]] = []
    for column in 1...3 { columns.append(try tokenizer.words(of: try row.textIfPresent(column) ?? "")) }
    return required.allSatisfy { phrase in columns.contains { phrase.occurs(in: $0) } }
      && !excluded.contains { phrase in columns.contains { phrase.occurs(in: $0) } }
  }

  /// Returns a query for documents that have all words of `required`, and no word of `excluded` that stands alone.
  private static func expression(scope: String?, required: [Phrase], excluded: [Phrase]) -> String {
    let wanted = required.flatMap { phrase in
      phrase.words.enumerated().map { index, word in
        lexeme(word) + (phrase.isPrefix && index == phrase.words.count - 1 ? ":*" : "")
      }
    }
    let unwanted = excluded.filter(\.isExact).flatMap { phrase in
      phrase.words.map { "!\(lexeme($0))\(phrase.isPrefix ? ":*" : "")" }
    }
    return ((scope.map { [scopeLexeme($0)] } ?? []) + wanted + unwanted).joined(separator: " & ")
  }

  /// Returns a word in the language of PostgreSQL's vectors and queries. It has no quotes: see `WordScalars`.
  private static func lexeme(_ word: String) -> String { "'\(beginning(of: word))'" }

  /// No word of a text begins with this character.
  private static func scopeLexeme(_ scope: String) -> String { "'#\(scope)'" }

  private static func beginning(of word: String) -> String {
    guard word.utf8.count > wordBytesMax else { return word }
    var sizeBytes = 0
    let scalars = word.unicodeScalars.prefix { scalar in
      sizeBytes += UTF8.width(scalar)
      return sizeBytes <= wordBytesMax
    }
    return String(String.UnicodeScalarView(scalars))
  }

  /// Words that follow one another.
  private struct Phrase {
    var words: [String]
    /// Whether the last word is a prefix.
    var isPrefix: Bool

    /// Whether the index alone decides about the phrase. The beginning of a long word may be a scalar shorter.
    var isExact: Bool { words.count == 1 && words[0].utf8.count <= wordBytesMax - 4 }

    func occurs(in text: [String]) -> Bool {
      guard !words.isEmpty, text.count >= words.count else { return false }
      return (0...text.count - words.count).contains { start in
        words.indices.allSatisfy { index in
          let word = text[start + index]
          return isPrefix && index == words.count - 1
            ? word.utf8.starts(with: words[index].utf8) : word.utf8.elementsEqual(words[index].utf8)
        }
      }
    }
  }
}
