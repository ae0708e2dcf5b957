/// The statements a body may run, told by their first word. Transaction control, ATTACH, PRAGMA and schema changes
/// stay with the store: one COMMIT inside a body would acknowledge half of the writes that share its transaction.
struct StatementKinds: Sendable {
  static let reading = StatementKinds(words: ["SELECT", "WITH", "VALUES"])
  static let writing = StatementKinds(words: ["SELECT", "WITH", "VALUES", "INSERT", "UPDATE", "DELETE"])

  private let words: [String]

  var names: String { words.joined(separator: ", ") }

  func contains(_ sql: String) -> Bool {
    let text = sql.utf8
    guard let start = text.firstIndex(where: { !Self.isSpace($0) }) else { return false }
    let rest = text[start...]
    return words.contains { word in
      var index = rest.startIndex
      for letter in word.utf8 {
        guard index < rest.endIndex, rest[index] & 0xDF == letter else { return false }
        index = rest.index(after: index)
      }
      // The word must end here: "VALUESX" is not "VALUES".
      return index == rest.endIndex || !Self.isLetter(rest[index])
    }
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (0x41...0x5A).contains(byte & 0xDF) || (0x30...0x39).contains(byte) || byte == 0x5F
  }
}
