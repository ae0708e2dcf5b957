/// Kinds of statements, determined by their first word.
///
/// Bodies may run SELECT, INSERT, UPDATE and DELETE only. Transaction control, ATTACH, PRAGMA and schema changes are
/// reserved for the store, because a COMMIT inside a body would acknowledge half of the writes that share its
/// transaction.
package struct StatementKinds: OptionSet {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let queries = StatementKinds(rawValue: 1)
  package static let changes = StatementKinds(rawValue: 2)
  package static let others = StatementKinds(rawValue: 4)

  package static let reading = queries
  package static let writing: StatementKinds = [.queries, .changes]
  package static let all: StatementKinds = [.queries, .changes, .others]

  private static let queryWords = ["SELECT", "WITH", "VALUES"]
  private static let changeWords = ["INSERT", "UPDATE", "DELETE"]

  /// The words that begin statements of these kinds.
  package var names: String {
    ((contains(.queries) ? Self.queryWords : []) + (contains(.changes) ? Self.changeWords : []))
      .joined(separator: ", ")
  }

  /// Returns the kind of a statement.
  package static func kind(of sql: String) -> StatementKinds {
    let text = sql.utf8
    guard let start = text.firstIndex(where: { !isSpace($0) }) else { return .others }
    let rest = text[start...]
    if queryWords.contains(where: { begins(rest, with: $0) }) { return .queries }
    return changeWords.contains { begins(rest, with: $0) } ? .changes : .others
  }

  private static func begins(_ text: Substring.UTF8View, with word: String) -> Bool {
    var index = text.startIndex
    for letter in word.utf8 {
      guard index < text.endIndex, text[index] & 0xDF == letter else { return false }
      index = text.index(after: index)
    }
    // The word must end here: "VALUESX" is not "VALUES".
    return index == text.endIndex || !isLetter(text[index])
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (0x41...0x5A).contains(byte & 0xDF) || (0x30...0x39).contains(byte) || byte == 0x5F
  }
}
