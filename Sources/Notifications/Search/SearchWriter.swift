import CampanileService
import CampanileStore

/// Updates single documents of the index to match their notifications, within one commit of bounded size.
///
/// The change log only provides which notification changed; the document becomes the notification's current state. It
/// is therefore harmless to process a notification repeatedly or in any order.
struct SearchWriter {
  /// The remaining work of the commit. Each examined notification costs one unit, and so does every `textUnitBytes` of
  /// indexed text.
  private(set) var budget: Int
  private var seen: Set<SearchKey> = []
  private var textCount = 0
  private var users: [String: SearchUser] = [:]
  private let transaction: WriteTransaction
  /// Nil on SQLite.
  private let vectors: SearchVectors?
  static let textUnitBytes = 1_024

  init(_ transaction: WriteTransaction, budget: Int) throws {
    self.transaction = transaction
    self.budget = budget
    vectors = try transaction.dialect == .postgreSQL ? SearchVectors() : nil
  }

  var isExhausted: Bool { budget <= 0 }

  /// Excludes deleted buckets, whether or not they have been emptied yet. Not a join, which PostgreSQL might begin with
  /// all buckets of the user.
  static let notificationSQL = """
    SELECT bucket_id, title, subtitle, body, created_at_ms FROM notifications AS n
    WHERE user_id = $1 AND id = $2
      AND (SELECT deleted_at_ms IS NULL FROM buckets AS b WHERE b.user_id = n.user_id AND b.id = n.bucket_id)
    """
  static let documentSQL = """
    SELECT document_id, bucket_id FROM search_documents WHERE user_id = $1 AND notification_id = $2
    """
  static let textSQL = "SELECT title, subtitle, body FROM search_index WHERE rowid = $1"

  /// The words of a notification's texts.
  private struct Text: Hashable {
    var title: String
    var subtitle: String?
    var body: String?
    var sizeBytes: Int { title.utf8.count + (subtitle?.utf8.count ?? 0) + (body?.utf8.count ?? 0) }
    var values: [SQLValue] { [.text(title), .text(subtitle), .text(body)] }
    var columns: [String] { [title, subtitle, body].compactMap(\.self) }

    init(_ row: borrowing SQLRow, from column: Int) throws {
      title = try row.text(column)
      subtitle = try row.textIfPresent(column + 1)
      body = try row.textIfPresent(column + 2)
    }

    /// Returns the texts in the spelling of the index.
    func words(of user: SearchUser) -> Text {
      var words = self
      words.title = user.words(of: title)
      words.subtitle = subtitle.map(user.words)
      words.body = body.map(user.words)
      return words
    }
  }

  /// Creates, updates or removes one document.
  mutating func update(_ key: SearchKey) throws {
    budget -= 1
    guard seen.insert(key).inserted else { return }
    let arguments: [SQLValue] = [.text(key.user), .text(key.notificationID)]
    let document = try transaction.queryOne(Self.documentSQL, arguments) { row in
      (number: try row.integer(0), bucketID: try row.text(1))
    }
    let notification = try transaction.queryOne(Self.notificationSQL, arguments) { row in
      (bucketID: try row.text(0), text: try Text(row, from: 1), createdAtMs: try row.integer(4))
    }
    switch (document, notification) {
    case (nil, nil): return
    case (let document?, nil): try remove(document.number)
    case (nil, let notification?):
      let user = try searchUser(key.user)
      let words = notification.text.words(of: user)
      let scope = user.bucketWord(notification.bucketID)
      let id = key.notificationID
      let timeMs = SortableID.timeMs(of: id, prefix: SortableID.notificationPrefix) ?? notification.createdAtMs
      let number = try DocumentNumber.next(notificationID: id, timeMs: timeMs, user: key.user, transaction)
      try transaction.execute(
        "INSERT INTO search_documents (document_id, user_id, notification_id, bucket_id) VALUES ($1, $2, $3, $4)",
        [.integer(number)] + arguments + [.text(notification.bucketID)])
      try transaction.execute(
        "INSERT INTO search_index (rowid, title, subtitle, body, scope) VALUES ($1, $2, $3, $4, $5)",
        [.integer(number)] + words.values + [.text(scope)])
      try keepWords(of: words, number, scope: scope)
      budget -= notification.text.sizeBytes / Self.textUnitBytes
    case (let document?, let notification?):
      let user = try searchUser(key.user)
      let words = notification.text.words(of: user)
      let known = try transaction.queryOne(Self.textSQL, [.integer(document.number)]) { try Text($0, from: 0) }
      let isMoved = document.bucketID != notification.bucketID
      guard isMoved || known != words else { return }
      let scope = user.bucketWord(notification.bucketID)
      try transaction.execute(
        "UPDATE search_index SET title = $1, subtitle = $2, body = $3, scope = $4 WHERE rowid = $5",
        words.values + [.text(scope), .integer(document.number)])
      if known != words || vectors != nil { try keepWords(of: words, document.number, scope: scope) }
      if isMoved {
        try transaction.execute(
          "UPDATE search_documents SET bucket_id = $1 WHERE document_id = $2",
          [.text(notification.bucketID), .integer(document.number)])
      }
      budget -= 1 + 2 * notification.text.sizeBytes / Self.textUnitBytes
    }
  }

  private mutating func keepWords(of text: Text, _ document: Int64, scope: String) throws {
    if let vectors { return try vectors.write(document, text.columns, scope: scope, transaction) }
    for value in text.values where value != .null {
      textCount += 1
      try transaction.execute(SearchWords.batchSQL, [.int(textCount), value])
    }
  }

  /// Stores the words of the indexed texts. The last step before the commit.
  func finish() throws {
    guard textCount > 0 else { return }
    try transaction.execute(SearchWords.keepSQL)
    try transaction.execute(SearchWords.emptySQL)
  }

  private mutating func searchUser(_ id: String) throws -> SearchUser {
    if let known = users[id] { return known }
    let user = try SearchUser.make(id, transaction)
    users[id] = user
    return user
  }

  private func remove(_ number: Int64) throws {
    try transaction.execute("DELETE FROM search_index WHERE rowid = $1", [.integer(number)])
    try transaction.execute("DELETE FROM search_documents WHERE document_id = $1", [.integer(number)])
  }

  static let bucketNotificationsSQL = """
    SELECT id FROM notifications WHERE user_id = $1 AND bucket_id = $2 AND id > $3 ORDER BY id LIMIT $4
    """
  static let bucketDocumentsSQL = """
    SELECT notification_id FROM search_documents WHERE user_id = $1 AND bucket_id = $2 AND notification_id > $3
    ORDER BY notification_id LIMIT $4
    """

  /// Continues with a bucket that was created or deleted with its notifications, from `position`, and advances
  /// `position`. Returns true once the bucket is done.
  mutating func updateBucket(_ bucketID: String, user: String, from position: inout String) throws -> Bool {
    let arguments: [SQLValue] = [.text(user), .text(bucketID), .text(position), .int(max(1, budget))]
    let (ids, isDone) = Self.merge(
      try transaction.query(Self.bucketNotificationsSQL, arguments) { try $0.text(0) },
      try transaction.query(Self.bucketDocumentsSQL, arguments) { try $0.text(0) }, countMax: max(1, budget),
      by: { $0.precedes($1) })
    for id in ids {
      if isExhausted { return false }
      try update(SearchKey(user: user, notificationID: id))
      position = id
    }
    if isDone { position = "" }
    return isDone
  }

  static let allNotificationsSQL = """
    SELECT user_id, id FROM notifications WHERE (user_id, id) > ($1, $2) ORDER BY user_id, id LIMIT $3
    """
  static let allDocumentsSQL = """
    SELECT user_id, notification_id FROM search_documents WHERE (user_id, notification_id) > ($1, $2)
    ORDER BY user_id, notification_id LIMIT $3
    """

  /// Continues with everything that is or should be indexed. Returns nil at the end.
  mutating func rebuild(from start: SearchKey) throws -> SearchKey? {
    let arguments: [SQLValue] = [.text(start.user), .text(start.notificationID), .int(max(1, budget))]
    func key(_ row: borrowing SQLRow) throws -> SearchKey {
      SearchKey(user: try row.text(0), notificationID: try row.text(1))
    }
    let (keys, isDone) = Self.merge(
      try transaction.query(Self.allNotificationsSQL, arguments, key),
      try transaction.query(Self.allDocumentsSQL, arguments, key), countMax: max(1, budget), by: <)
    var position = start
    for key in keys {
      if isExhausted { return position }
      try update(key)
      position = key
    }
    return isDone ? nil : position
  }

  /// Merges two ascending lists without duplicates, up to the point where both are known. A list with `countMax`
  /// entries may be incomplete. `isDone` reports whether both are complete.
  static func merge<T: Hashable>(
    _ a: [T], _ b: [T], countMax: Int, by precedes: (T, T) -> Bool
  ) -> (items: [T], isDone: Bool) {
    let ends = [a, b].filter { $0.count >= countMax }.compactMap(\.last)
    let end = ends.min(by: precedes)
    let items = Set(a).union(b).sorted(by: precedes).filter { item in end.map { !precedes($0, item) } ?? true }
    return (items, end == nil)
  }
}
