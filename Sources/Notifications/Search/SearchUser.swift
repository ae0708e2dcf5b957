import CampanileBase
import CampanileService
import CampanileStore

/// A user's part of the full-text index: every word of the user begins with the user's key.
///
/// Each list of the index therefore belongs to one user. The results and the duration of a search depend only on the
/// texts of its own user.
struct SearchUser: Sendable, Hashable {
  static let keySizeBytes = 6
  private static let numberMax: Int64 = 1 << (5 * Int64(keySizeBytes))

  static let numberSQL = "SELECT number FROM search_users WHERE user_id = $1"
  static let highestSQL = "SELECT coalesce(max(number), 0) FROM search_users"

  /// Letters and digits, of the same length for all users, so that no key is a prefix of another.
  let key: String

  init(number: Int64) {
    key = String(
      decoding: (0..<Self.keySizeBytes).reversed().map { SortableID.alphabet[Int(number >> (5 * Int64($0)) & 31)] },
      as: UTF8.self)
  }

  /// Returns nil for a user without any indexed text.
  static func existing(_ user: String, _ transaction: ReadTransaction) throws -> SearchUser? {
    try transaction.queryOne(numberSQL, [.text(user)]) { SearchUser(number: try $0.integer(0)) }
  }

  /// Returns the user's key, and assigns it when the user is indexed for the first time.
  static func make(_ user: String, _ transaction: WriteTransaction) throws -> SearchUser {
    if let existing = try existing(user, transaction) { return existing }
    let number = 1 + (try transaction.queryOne(highestSQL) { try $0.integer(0) } ?? 0)
    guard number < numberMax else { throw StoreError(.constraint, "the search index has no keys left for new users") }
    try transaction.execute(
      "INSERT INTO search_users (user_id, number) VALUES ($1, $2)", [.text(user), .integer(number)])
    return SearchUser(number: number)
  }

  /// Returns a term in the spelling of the index.
  func term(_ term: SearchQuery.Term) -> SearchTerm { SearchTerm(text: words(of: term.text), isPrefix: term.isPrefix) }

  /// Returns the word of a bucket in the column `scope`. It is hexadecimal, because the tokenizer would split an id.
  func bucketWord(_ id: String) -> String { "\(key)b\(Hexadecimal.text(id.utf8))" }

  /// Returns the words of a text, each after the key, separated by one space.
  ///
  /// All other characters are omitted: the tokenizer might take them for a word, which would then have no key.
  func words(of text: String) -> String {
    var result = ""
    result.reserveCapacity(2 * text.utf8.count + keySpace)
    var isInWord = false
    for scalar in text.unicodeScalars {
      let isWord = isInWord ? WordScalars.continues(scalar) : WordScalars.begins(scalar)
      if isWord {
        if !isInWord {
          if !result.isEmpty { result += " " }
          result += key
        }
        result.unicodeScalars.append(scalar)
      }
      isInWord = isWord
    }
    return result
  }

  private var keySpace: Int { Self.keySizeBytes + 1 }
}

/// A word, phrase or prefix in the spelling of the index, with its user's key.
struct SearchTerm: Sendable, Hashable {
  var text: String
  var isPrefix = false
}

/// The characters that form words, as defined by FTS5's tokenizer `unicode61`.
enum WordScalars {
  /// Whether a character begins a word: letters, digits, other numbers and private characters.
  static func begins(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII {
      return TextRules.isDigit(UInt8(scalar.value)) || TextRules.isLetter(UInt8(scalar.value))
    }
    return switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
      .letterNumber, .otherNumber, .privateUse:
      !lettersSinceUnicode8.contains { $0.contains(scalar.value) }
    default: false
    }
  }

  /// Whether a character continues a word. In addition to the above, these are the accents that the tokenizer removes.
  static func continues(_ scalar: Unicode.Scalar) -> Bool {
    accents.contains(scalar.value) ? isAccent(scalar.value) : begins(scalar)
  }

  /// Letters that the tokenizer's older Unicode tables classify as marks, which separate words.
  private static let lettersSinceUnicode8: [ClosedRange<UInt32>] = [0x19B0...0x19C0, 0x19C8...0x19C9, 0x1CF2...0x1CF3]

  private static let accents: ClosedRange<UInt32> = 0x300...0x331
  /// A bit set of `accents`, lowest first: the accents that combine with letters.
  private static let accentBits: UInt64 = 0x0003_61F8_0802_9FDF

  private static func isAccent(_ value: UInt32) -> Bool { accentBits >> UInt64(value - accents.lowerBound) & 1 == 1 }
}
