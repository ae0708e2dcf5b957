import CampanileService
import CampanileStore

/// Expands a prefix into the matching words of the user's part of the index.
///
/// The index has prefix lists for 2 and 5 characters after the key. For other lengths, it would collect all matches
/// before it returns the first row. A choice among a few lists is returned row by row.
enum SearchPrefix {
  static let indexedLengths = [2, 5]
  /// The maximum number of choices. With more, the index collects all matches.
  static let choicesMax = 64

  /// Returns nil if no word of the user has this prefix.
  static func alternative(
    _ term: SearchQuery.Term, of user: SearchUser, _ transaction: ReadTransaction
  ) throws -> SearchExpression.Alternative? {
    guard let plain = plainBeginning(term) else { return .term(user.term(term)) }
    let beginning = user.key + plain
    let whole = SearchTerm(text: beginning, isPrefix: true)
    let count = plain.utf8.count
    if indexedLengths.contains(count) { return .term(whole) }
    // The next longer prefix list, or else whole words.
    let length = indexedLengths.first { $0 > count }.map { $0 + SearchUser.keySizeBytes }
    var choices: [SearchTerm] = []
    var position = beginning
    while true {
      let found = try transaction.queryOne(SearchWords.nextSQL, [.text(position)]) { try $0.text(0) }
      guard let found, found.utf8.starts(with: beginning.utf8) else { break }
      guard choices.count < choicesMax else { return .term(whole) }
      let scalars = found.unicodeScalars
      if let length, scalars.count >= length {
        let longer = String(String.UnicodeScalarView(scalars.prefix(length)))
        choices.append(SearchTerm(text: longer, isPrefix: true))
        position = longer + "\u{10FFFF}"
      } else {
        choices.append(SearchTerm(text: found))
        position = found + "\u{0}"
      }
    }
    return choices.isEmpty ? nil : .anyOf(choices)
  }

  /// Returns the prefix in the spelling of the index, or nil for phrases and non-ASCII letters, which only the index's
  /// tokenizer can spell.
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
