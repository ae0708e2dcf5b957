import CampanileStore

/// How far the index has come: the one row of `search_state`.
struct SearchState: Sendable, Hashable {
  /// The last change whose notification is indexed.
  var sequence: Int64
  /// The last notification that a rebuild has reached; nil when none is under way.
  var rebuild: SearchKey?
  /// The last notification, by id, of the bucket that the change after `sequence` is about.
  var bucketPosition: String

  static let loadSQL = """
    SELECT sequence, rebuild_user, rebuild_notification, bucket_position FROM search_state WHERE id = 1
    """
  static let saveSQL = """
    UPDATE search_state SET sequence = $1, rebuild_user = $2, rebuild_notification = $3, bucket_position = $4
    WHERE id = 1
    """
  static let pendingSQL = "SELECT sequence FROM changes WHERE user_id = $1 AND sequence > $2 ORDER BY sequence LIMIT 1"

  init(_ transaction: ReadTransaction) throws {
    let found = try transaction.queryOne(Self.loadSQL) { row in
      (try row.integer(0), try row.textIfPresent(1), try row.text(2), try row.text(3))
    }
    guard let found else { throw StoreError(.corrupt, "the state of the search index is missing") }
    sequence = found.0
    rebuild = found.1.map { SearchKey(user: $0, notificationID: found.2) }
    bucketPosition = found.3
  }

  func save(_ transaction: WriteTransaction) throws {
    try transaction.execute(
      Self.saveSQL,
      [
        .integer(sequence), .text(rebuild?.user), .text(rebuild?.notificationID ?? ""), .text(bucketPosition),
      ])
  }

  /// Whether the index has everything that the user has published.
  func isComplete(for user: String, _ transaction: ReadTransaction) throws -> Bool {
    // A rebuild goes through users in the order of their ids.
    if let rebuild, user.utf8.elementsEqual(rebuild.user.utf8) || !user.precedes(rebuild.user) { return false }
    return try transaction.queryOne(Self.pendingSQL, [.text(user), .integer(sequence)]) { try $0.integer(0) } == nil
  }
}

/// A notification of a user, in the order of the database: by bytes.
struct SearchKey: Sendable, Hashable, Comparable {
  var user: String
  var notificationID: String

  static func < (a: SearchKey, b: SearchKey) -> Bool {
    if a.user == b.user { return a.notificationID.precedes(b.notificationID) }
    return a.user.precedes(b.user)
  }
}

extension String {
  /// The order of SQLite's BINARY collation: by the bytes of UTF-8.
  func precedes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}
