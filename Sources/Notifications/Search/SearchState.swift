import CampanileStore

/// The progress of the index: the only row of `search_state`.
struct SearchState: Sendable, Hashable {
  /// The last change that is indexed.
  var sequence: Int64
  /// The last notification that a rebuild has reached; nil if none is in progress.
  var rebuild: SearchKey?
  /// The last processed notification id in the bucket of the change after `sequence`.
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

  /// Whether everything that the user has published is indexed.
  func isComplete(for user: String, _ transaction: ReadTransaction) throws -> Bool {
    // A rebuild walks users in the order of their ids.
    if let rebuild, user.utf8.elementsEqual(rebuild.user.utf8) || !user.precedes(rebuild.user) { return false }
    return try transaction.queryOne(Self.pendingSQL, [.text(user), .integer(sequence)]) { try $0.integer(0) } == nil
  }
}

/// A notification of a user. Ordered like the database, by bytes.
struct SearchKey: Sendable, Hashable, Comparable {
  var user: String
  var notificationID: String

  static func < (a: SearchKey, b: SearchKey) -> Bool {
    if a.user == b.user { return a.notificationID.precedes(b.notificationID) }
    return a.user.precedes(b.user)
  }
}

extension String {
  /// Compares like SQLite's BINARY collation, by the bytes of UTF-8.
  func precedes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}
