import CampanileService
import CampanileStore

/// Spells out the beginning of a word as the words that the index has.
///
/// The index keeps lists for beginnings of 2, 3, 4 and 6 characters. For another length it would gather everything that
/// matches before it answers the first row; a choice among a few lists is answered row by row.
enum SearchPrefix {
  static let indexedLengths = [2, 3, 4, 6]
  /// Choices at most; with more, the index gathers.
  static let choicesMax = 64

  /// Nil when nothing in the index begins so.
  static func alternative(
    _ term: SearchQuery.Term, _ transaction: ReadTransaction
  ) throws -> SearchExpression.Alternative? {
    guard let beginning = plainBeginning(term) else { return .term(term) }
    let count = beginning.utf8.count
    if indexedLengths.contains(count) { return .term(SearchQuery.Term(text: beginning, isPrefix: true)) }
    // The next list of a longer beginning, or whole words.
    let length = indexedLengths.contains(count + 1) ? count + 1 : nil
    var choices: [SearchQuery.Term] = []
    var position = beginning
    while true {
      let found = try transaction.queryOne(SearchWords.nextSQL, [.text(position)]) { try $0.text(0) }
      guard let found, found.utf8.starts(with: beginning.utf8) else { break }
      guard choices.count < choicesMax else { return .term(term) }
      let scalars = found.unicodeScalars
      if let length, scalars.count >= length {
        let longer = String(String.UnicodeScalarView(scalars.prefix(length)))
        choices.append(SearchQuery.Term(text: longer, isPrefix: true))
        position = longer + "\u{10FFFF}"
      } else {
        choices.append(SearchQuery.Term(text: found))
        position = found + "\u{0}"
      }
    }
    return choices.isEmpty ? nil : .anyOf(choices)
  }

  /// The beginning as the index spells it; nil for what only its tokenizer can spell: phrases and letters beyond ASCII.
  private static func plainBeginning(_ term: SearchQuery.Term) -> String? {
    guard term.isPrefix else { return nil }
    let word = term.text.hasSuffix("*") ? String(term.text.dropLast()) : term.text
    guard !word.isEmpty, word.utf8.allSatisfy({ TextRules.isDigit($0) || ($0 < 0x80 && isASCIILetter($0)) }) else {
      return nil
    }
    return word.lowercased()
  }

  private static func isASCIILetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }
}
