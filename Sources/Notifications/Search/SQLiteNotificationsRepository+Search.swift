import CampanileAPI
import CampanileBase
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteNotificationsRepository {
  /// The index returns rows by descending number while it scans, so only one page is collected.
  static let searchSQL = """
    SELECT rowid FROM search_index WHERE search_index MATCH $1 AND rowid >= $2 AND rowid < $3
    ORDER BY rowid DESC LIMIT $4
    """
  static let searchedDocumentSQL = "SELECT user_id, notification_id FROM search_documents WHERE document_id = $1"

  func search(_ query: SearchPageQuery) async throws -> SearchPage {
    if let bucketID = query.bucketID { _ = try await bucket(bucketID, user: query.user) }
    try await RPCError.convertingStoreErrors { try await SearchIndexer(store: store).catchUp(user: query.user) }
    return try await read { try page(query, $0) }
  }

  private func page(_ query: SearchPageQuery, _ transaction: ReadTransaction) throws -> SearchPage {
    let documents = try documents(query, transaction)
    var rows = PageRows<Notification>(countMax: query.pageSize)
    var last: Int64?
    for document in documents.prefix(query.pageSize) {
      if let notification = try notification(document, query, transaction) {
        guard rows.add(notification, sizeBytes: notification.sizeBytes) else { break }
      }
      last = document
    }
    let isLast = !rows.hasMore && documents.count <= query.pageSize
    return SearchPage(notifications: rows.items, last: isLast ? nil : last)
  }

  /// Returns nil for a notification that was deleted or moved after it had been indexed.
  private func notification(
    _ document: Int64, _ query: SearchPageQuery, _ transaction: ReadTransaction
  ) throws -> Notification? {
    let key = try transaction.queryOne(Self.searchedDocumentSQL, [.integer(document)]) { row in
      (user: try row.text(0), id: try row.text(1))
    }
    guard let key, key.user == query.user else { return nil }
    let notification = try transaction.queryOne(
      Self.notificationSQL, [.text(key.user), .text(key.id)], NotificationRow.notification)
    return query.bucketID == nil || notification?.bucketId == query.bucketID ? notification : nil
  }

  private func documents(_ query: SearchPageQuery, _ transaction: ReadTransaction) throws -> [Int64] {
    guard let user = try SearchUser.existing(query.user, transaction) else { return [] }
    let lower = query.startMs.map(DocumentNumber.lowest) ?? 0
    let upper = min(query.endMs.map(DocumentNumber.lowest) ?? .max, query.before ?? .max)
    if try transaction.dialect == .postgreSQL {
      return try SearchVectors().documents(query, of: user, in: lower..<max(lower, upper), transaction)
    }
    var required: [SearchExpression.Alternative] = []
    for term in query.query.required {
      guard let alternative = try SearchPrefix.alternative(term, of: user, transaction) else { return [] }
      required.append(alternative)
    }
    let expression = SearchExpression.text(
      bucketWord: query.bucketID.map(user.bucketWord), required: required,
      excluded: query.query.excluded.map(user.term))
    return try transaction.query(
      Self.searchSQL, [.text(expression), .integer(lower), .integer(upper), .int(query.pageSize + 1)]
    ) { try $0.integer(0) }
  }
}
