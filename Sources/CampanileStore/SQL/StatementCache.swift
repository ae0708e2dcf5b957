/// The compiled statements of one connection, by their text.
///
/// Nearly all texts are constants with a fixed address. Statements are therefore looked up by the text's address first,
/// which avoids hashing the whole text for every run. A comparison of the texts verifies the result; for the same
/// constant it compares addresses only.
struct StatementCache {
  /// Maximum number of cached statements. Services use a few dozen, but texts built at run time would accumulate.
  static let countMax = 512
  private static let placesCount = 256

  private var places = [PreparedStatement?](repeating: nil, count: Self.placesCount)
  private var byText: [String: PreparedStatement] = [:]

  /// Returns the cached statement for a text; nil if there is none or it is in use.
  mutating func find(_ sql: String) -> PreparedStatement? {
    let place = Self.place(of: sql)
    if let place, let statement = places[place], statement.sql == sql {
      return statement.isInUse ? nil : statement
    }
    guard let statement = byText[sql], !statement.isInUse else { return nil }
    if let place { places[place] = statement }
    return statement
  }

  /// Caches a statement unless there is one with the same text.
  mutating func keep(_ statement: PreparedStatement) {
    if byText.count >= Self.countMax { removeAll() }
    if byText[statement.sql] == nil { byText[statement.sql] = statement }
  }

  mutating func removeAll() {
    byText.removeAll(keepingCapacity: true)
    for place in places.indices { places[place] = nil }
  }

  /// Returns nil for a short text, which has no fixed address.
  private static func place(of sql: String) -> Int? {
    // Swift stores up to 15 bytes inside the string itself.
    guard sql.utf8.count > 15 else { return nil }
    return sql.utf8.withContiguousStorageIfAvailable { text in
      let address = UInt(bitPattern: text.baseAddress)
      return Int((address >> 4 ^ address >> 12) % UInt(placesCount))
    }
  }
}
