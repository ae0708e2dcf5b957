/// The compiled statements of one connection, by their text.
///
/// Nearly all texts are constants, which stay where they are in memory: so a statement is looked for under the address of
/// its text first, which spares hashing some hundred bytes for every statement that runs. Comparing the texts tells whether it
/// is the one; for the same constant that is a comparison of addresses.
struct StatementCache {
  /// Compiled statements kept. Services use a few dozen; a text built at run time would otherwise pile up here.
  static let countMax = 512
  private static let placesCount = 256

  private var places = [PreparedStatement?](repeating: nil, count: Self.placesCount)
  private var byText: [String: PreparedStatement] = [:]

  /// The statement with a text that nobody uses just now.
  mutating func find(_ sql: String) -> PreparedStatement? {
    let place = Self.place(of: sql)
    if let place, let statement = places[place], statement.sql == sql {
      return statement.isInUse ? nil : statement
    }
    guard let statement = byText[sql], !statement.isInUse else { return nil }
    if let place { places[place] = statement }
    return statement
  }

  /// Keeps a statement, unless there is one with its text.
  mutating func keep(_ statement: PreparedStatement) {
    if byText.count >= Self.countMax { removeAll() }
    if byText[statement.sql] == nil { byText[statement.sql] = statement }
  }

  mutating func removeAll() {
    byText.removeAll(keepingCapacity: true)
    for place in places.indices { places[place] = nil }
  }

  /// Nil for a text that has no address of its own: a short one.
  private static func place(of sql: String) -> Int? {
    // Up to 15 bytes are kept in the string itself.
    guard sql.utf8.count > 15 else { return nil }
    return sql.utf8.withContiguousStorageIfAvailable { text in
      let address = UInt(bitPattern: text.baseAddress)
      return Int((address >> 4 ^ address >> 12) % UInt(placesCount))
    }
  }
}
