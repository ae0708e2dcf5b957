/// A prepared statement that a cache finds by its text.
package protocol CachedStatement: AnyObject {
  var sql: String { get }
  /// Whether a cursor uses the statement, so that a nested use needs its own.
  var isInUse: Bool { get }
}

/// The compiled statements of one connection, by their text.
///
/// Nearly all texts are constants with a fixed address. Statements are therefore looked up by the text's address first,
/// which avoids hashing the whole text for every run. A comparison of the texts verifies the result; for the same
/// constant it compares addresses only.
package struct StatementCache<Statement: CachedStatement> {
  /// Maximum number of cached statements. Services use a few dozen, but texts built at run time would accumulate.
  package static var countMax: Int { 512 }
  private static var placesCount: Int { 256 }

  private var places = [Statement?](repeating: nil, count: Self.placesCount)
  private var byText: [String: Statement] = [:]

  package init() {}

  package var isFull: Bool { byText.count >= Self.countMax }

  /// Returns the cached statement for a text; nil if there is none or it is in use.
  package mutating func find(_ sql: String) -> Statement? {
    let place = Self.place(of: sql)
    if let place, let statement = places[place], statement.sql == sql {
      return statement.isInUse ? nil : statement
    }
    guard let statement = byText[sql], !statement.isInUse else { return nil }
    if let place { places[place] = statement }
    return statement
  }

  /// Caches a statement unless there is one with the same text.
  package mutating func keep(_ statement: Statement) {
    if isFull { removeAll() }
    if byText[statement.sql] == nil { byText[statement.sql] = statement }
  }

  package mutating func removeAll() {
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
